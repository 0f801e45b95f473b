/** A scripted service that speaks the HTTP and WebSocket protocol, to develop and test the page against. */

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PASSAGES, WITHDRAWN } from "./documents.ts";
import { FakeChannel } from "./fake-channel.ts";
import { FakeRun } from "./fake-run.ts";
import { servePage } from "./page.ts";

export const USERS = [
  { userId: "ada", organisationId: "northwind", name: "Ada Fenwick", role: "admin" },
  { userId: "ben", organisationId: "northwind", name: "Ben Okafor", role: "member" },
  { userId: "mira", organisationId: "lakeside", name: "Mira Castellan", role: "admin" },
];

interface Kept {
  conversationId: string;
  userId: string;
  title: string | null;
  createdAt: string;
  updatedAt: string;
  runs: FakeRun[];
}

interface Asked {
  method: string;
  parts: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
  userId: string;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

export interface FakeOptions {
  port: number;
  /** Milliseconds that one token takes. */
  stepMs: number;
  /** The built page, if it is to be served too. */
  page?: string;
}

export class FakeService {
  readonly interactions: unknown[] = [];
  /** Tokens issued before this time are refused, to try their renewal. */
  tokensFrom = 0;
  /** Answer every API call with this status, to try failures. */
  outage = 0;
  readonly channel: FakeChannel;
  readonly #server: Server;
  readonly #options: FakeOptions;
  readonly #conversations = new Map<string, Kept>();
  readonly #runs = new Map<string, FakeRun>();

  constructor(options: FakeOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    const owns = (userId: string, id: string): boolean =>
      this.#conversations.get(id)?.userId === userId;
    this.channel = new FakeChannel(this.#server, owns, (runId) => this.#runs.get(runId));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) =>
      this.#server.listen(this.#options.port, "127.0.0.1", resolve),
    );
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.channel.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    const origin = `http://${request.headers.host ?? ""}`;
    try {
      if (url.pathname === "/config.json") {
        const config = { apiUrl: "/api/assistant", tokenUrl: `${origin}/token`, users: USERS };
        reply(response, 200, config);
      } else if (url.pathname === "/token") {
        const { userId } = await readBody(request);
        const token = `${String(userId)} ${Date.now()}`;
        reply(response, 200, { token, expiresAt: Math.floor(Date.now() / 1000) + 3_600 });
      } else if (url.pathname.startsWith("/api/assistant/")) {
        reply(response, ...this.#answer(await this.#read(request, url), origin));
      } else {
        await servePage(this.#options.page, url.pathname, response);
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const problem = { status: error.status, code: error.code, detail: "" };
      reply(response, error.status, problem, "application/problem+json");
    }
  }

  async #read(request: IncomingMessage, url: URL): Promise<Asked> {
    if (this.outage > 0) throw new Refusal(this.outage, "unavailable");
    const [userId = "", issued = ""] = (request.headers.authorization ?? "")
      .replace("Bearer ", "")
      .split(" ");
    const known = USERS.some((user) => user.userId === userId);
    if (!known || Number(issued) < this.tokensFrom) throw new Refusal(401, "unauthenticated");
    return {
      method: request.method ?? "GET",
      parts: url.pathname.replace("/api/assistant/", "").split("/").map(decodeURIComponent),
      query: url.searchParams,
      body: await readBody(request),
      userId,
    };
  }

  #answer(asked: Asked, origin: string): [number, unknown] {
    switch (asked.parts[0]) {
      case "conversations":
        return this.#conversation(asked);
      case "runs":
        return this.#run(asked);
      case "tickets": {
        const ticket = this.channel.issueTicket(asked.userId);
        return [201, { ticket, webSocketUrl: `${origin.replace("http", "ws")}/live` }];
      }
      case "passages":
        return [200, findPassage(asked)];
      case "corpora":
        return [200, { corpora: asked.userId === "mira" ? [] : CORPORA }];
      default:
        throw new Refusal(404, "not_found");
    }
  }

  #conversation({ method, parts, body, userId }: Asked): [number, unknown] {
    const [, id, what] = parts;
    if (id === undefined)
      return method === "POST" ? this.#create(userId, body) : this.#list(userId);
    const kept = this.#conversations.get(id);
    if (kept?.userId !== userId) throw new Refusal(404, "not_found");
    if (what === "messages") return this.#ask(kept, String(body.text));
    if (what === "interactions") {
      this.interactions.push(body);
      return [202, {}];
    }
    const activeRunId = kept.runs.find((run) => !run.ended)?.runId ?? null;
    return [200, { ...summary(kept), activeRunId, messages: kept.runs.flatMap(messagesOf) }];
  }

  #create(userId: string, body: Record<string, unknown>): [number, unknown] {
    const now = new Date().toISOString();
    const title = typeof body.title === "string" ? body.title : null;
    const kept = {
      conversationId: randomUUID(),
      userId,
      title,
      createdAt: now,
      updatedAt: now,
      runs: [],
    };
    this.#conversations.set(kept.conversationId, kept);
    return [201, summary(kept)];
  }

  #list(userId: string): [number, unknown] {
    const own = [...this.#conversations.values()].filter((kept) => kept.userId === userId);
    return [200, { conversations: own.reverse().map(summary) }];
  }

  #ask(kept: Kept, question: string): [number, unknown] {
    if (kept.runs.some((run) => !run.ended)) throw new Refusal(409, "turn_in_progress");
    const { conversationId } = kept;
    const run = new FakeRun({ runId: randomUUID(), conversationId }, question, {
      stepMs: this.#options.stepMs,
      publish: (source, event) => this.channel.publish(source, event),
    });
    kept.runs.push(run);
    this.#runs.set(run.runId, run);
    void run.play();
    return [202, { runId: run.runId, conversationId, messageIds: run.messageIds, mode: "queued" }];
  }

  #run({ parts, query, userId }: Asked): [number, unknown] {
    const run = this.#runs.get(parts[1] ?? "");
    const kept = this.#conversations.get(run?.conversationId ?? "");
    if (run === undefined || kept?.userId !== userId) throw new Refusal(404, "not_found");
    if (parts[2] === "envelopes") {
      const envelopes = run.log.slice(Number(query.get("after") ?? 0));
      return [200, { envelopes, gap: null, ended: run.ended }];
    }
    if (parts[2] === "cancel") {
      run.cancelled = true;
      return [202, { runId: run.runId, status: "running" }];
    }
    return [200, describeRun(run)];
  }
}

const CORPORA = [
  {
    corpusId: "handbook",
    documents: 128,
    passages: 2_417,
    pending: 3,
    failed: 1,
    updatedAt: "2026-11-01T09:00:00Z",
  },
  {
    corpusId: "runbooks",
    documents: 41,
    passages: 906,
    pending: 0,
    failed: 0,
    updatedAt: "2026-11-01T09:00:00Z",
  },
];

function findPassage({ parts, userId }: Asked): unknown {
  const passage = PASSAGES.find(({ passageId }) => passageId === parts[1]);
  if (passage === undefined || passage.passageId === WITHDRAWN || userId === "mira") {
    throw new Refusal(404, "not_found");
  }
  return passage;
}

function summary({ conversationId, title, createdAt, updatedAt }: Kept): object {
  return { conversationId, title, profile: "docs", createdAt, updatedAt };
}

function messagesOf(run: FakeRun): unknown[] {
  const common = { runId: run.runId, createdAt: new Date().toISOString() };
  const { user, assistant } = run.messageIds;
  const question = { ...common, messageId: user, role: "user", text: run.question, citations: [] };
  if (run.text === "" || !run.ended) return [question];
  const { text, refs } = run;
  return [question, { ...common, messageId: assistant, role: "assistant", text, citations: refs }];
}

function describeRun(run: FakeRun): unknown {
  const { runId, conversationId, stopReason, error, text, refs, log } = run;
  return {
    runId,
    conversationId,
    status: run.ended ? "ended" : "running",
    stopReason,
    usage: null,
    message: text === "" ? null : { messageId: run.messageIds.assistant, text, citations: refs },
    error,
    lastSeq: log.length,
  };
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  type = "application/json",
): void {
  response.writeHead(status, { "content-type": type });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}
