import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTokenProvider } from "../../src/chat/session";

const ADA = { userId: "ada", organisationId: "northwind", name: "Ada", role: "member" };
let asked: RequestInit[] = [];
let lifetimeS = 3_600;
let status = 200;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  lifetimeS = 3_600;
  status = 200;
  vi.stubGlobal("fetch", (_url: string, init: RequestInit) => {
    asked.push(init);
    const body = { token: `token ${asked.length}`, expiresAt: Date.now() / 1000 + lifetimeS };
    return Promise.resolve(Response.json(body, { status }));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("one token serves requests made at once and after one another", async () => {
  const token = createTokenProvider("http://issuer.test", ADA);
  const both = await Promise.all([token({ fresh: false }), token({ fresh: false })]);
  expect([...both, await token({ fresh: false })]).toEqual(["token 1", "token 1", "token 1"]);
});

test("a token is renewed before it expires, and when it was refused", async () => {
  const token = createTokenProvider("http://issuer.test", ADA);
  await token({ fresh: false });
  vi.setSystemTime(Date.now() + 3_550_000);
  expect(await token({ fresh: false })).toBe("token 2");
  expect(await token({ fresh: true })).toBe("token 3");
});

test("a failure is not remembered", async () => {
  const token = createTokenProvider("http://issuer.test", ADA);
  status = 503;
  await expect(token({ fresh: false })).rejects.toMatchObject({ code: "token_unavailable" });
  status = 401;
  await expect(token({ fresh: false })).rejects.toMatchObject({ code: "signed_out" });
  status = 200;
  expect(await token({ fresh: false })).toBe("token 3");
});

test("a demo user is named; a product's reader is known by their own sign-in", async () => {
  await createTokenProvider("http://issuer.test", ADA)({ fresh: false });
  await createTokenProvider("http://issuer.test", null)({ fresh: false });
  expect(JSON.parse(asked[0]?.body as string)).toEqual({
    userId: "ada",
    organisationId: "northwind",
    role: "member",
  });
  expect(asked[1]).toMatchObject({ credentials: "include" });
});
