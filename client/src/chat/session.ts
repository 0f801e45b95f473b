/** The reader's token: fetched where the configuration says, kept until shortly before it expires. */

import { ApiProblem, type TokenProvider } from "../core";
import type { DemoUser } from "./config";

interface Token {
  token: string;
  /** ISO 8601, or seconds since 1970. */
  expiresAt: string | number;
}

const RENEW_BEFORE_MS = 60_000;

/** A provider for one person; requests that need a token at the same time share one fetch. */
export function createTokenProvider(tokenUrl: string, user: DemoUser | null): TokenProvider {
  let kept: Promise<Token> | null = null;
  let usableUntil = 0;
  return async ({ fresh }) => {
    if (fresh || Date.now() > usableUntil) kept = null;
    if (kept === null) {
      // Until it has come, nobody else needs to ask; a failure is forgotten at once.
      usableUntil = Number.POSITIVE_INFINITY;
      kept = fetchToken(tokenUrl, user);
      kept.then(
        (token) => (usableUntil = expiryMs(token) - RENEW_BEFORE_MS),
        () => (usableUntil = 0),
      );
    }
    return (await kept).token;
  };
}

async function fetchToken(tokenUrl: string, user: DemoUser | null): Promise<Token> {
  const response = await fetch(tokenUrl, user === null ? asSignedIn() : asDemoUser(user));
  if (!response.ok) throw describeRefusal(response.status);
  return (await response.json()) as Token;
}

function describeRefusal(status: number): ApiProblem {
  const code = status === 401 || status === 403 ? "signed_out" : "token_unavailable";
  return new ApiProblem({ code, status });
}

/** In a product, its own sign-in cookie says who is asking. */
function asSignedIn(): RequestInit {
  return { credentials: "include", cache: "no-store" };
}

function asDemoUser({ userId, organisationId, role }: DemoUser): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ userId, organisationId, role }),
  };
}

function expiryMs({ expiresAt }: Token): number {
  return typeof expiresAt === "number" ? expiresAt * 1000 : Date.parse(expiresAt);
}
