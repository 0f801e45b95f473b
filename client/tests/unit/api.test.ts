import { expect, test } from "vitest";
import { ApiProblem, createClient } from "../../src/core";
import { ScriptedService } from "../scripted-service";

async function problemOf(call: Promise<unknown>): Promise<ApiProblem> {
  const caught: unknown = await call.catch((error: unknown) => error);
  if (!(caught instanceof ApiProblem)) throw new Error("it did not fail as a problem");
  return caught;
}

function answering(response: () => Response | Promise<Response>) {
  return createClient({
    apiUrl: "http://service.test",
    token: () => Promise.resolve("t"),
    fetch: () => Promise.resolve(response()),
  }).api;
}

test("a refused token is asked for afresh, once", async () => {
  const service = new ScriptedService();
  service.before = ({ authorization }) =>
    authorization === "Bearer fresh" ? null : { status: 401, body: { code: "unauthenticated" } };
  await service.client().api.fetchRun("r");
  expect(service.tokensAsked).toEqual([false, true]);

  service.before = () => ({ status: 401, body: { code: "unauthenticated" } });
  const problem = await problemOf(service.client().api.fetchRun("r"));
  expect(problem.status).toBe(401);
  expect(service.tokensAsked).toEqual([false, true, false, true]);
});

test("a problem is read with its code, sentence, reference and time to wait", async () => {
  const body = { code: "budget_exceeded", detail: "Used up.", reference: "ref-1" };
  const headers = { "content-type": "application/problem+json", "retry-after": "30" };
  const api = answering(() => Response.json(body, { status: 429, headers }));
  expect(await problemOf(api.listCorpora())).toMatchObject({
    code: "budget_exceeded",
    status: 429,
    detail: "Used up.",
    reference: "ref-1",
    retryAfterS: 30,
  });
});

test("a failure without a problem body still has its status", async () => {
  const api = answering(() => new Response("<html>", { status: 502 }));
  expect(await problemOf(api.listCorpora())).toMatchObject({ code: "http_502", status: 502 });
});

test("no answer at all is a problem of its own", async () => {
  const api = answering(() => Promise.reject(new TypeError("failed to fetch")));
  expect(await problemOf(api.listCorpora())).toMatchObject({ code: "unreachable", status: 0 });
});

test("an answer that is not JSON is a problem, not a crash", async () => {
  const api = answering(() => new Response("<html>", { status: 200 }));
  expect((await problemOf(api.listCorpora())).code).toBe("unreadable_answer");
});

test("an acknowledgement may have no body", async () => {
  const api = answering(() => new Response(null, { status: 202 }));
  await expect(api.cancelRun("r")).resolves.toBeUndefined();
});

test("ids cannot lead a request astray", async () => {
  const service = new ScriptedService();
  await service.client().api.fetchRun("../conversations?x=1");
  expect(service.calls[0]?.path).toBe("/runs/..%2Fconversations%3Fx%3D1");
});

test("the list comes in pages, each asked for by the one before", async () => {
  const asked: string[] = [];
  const api = createClient({
    apiUrl: "http://service.test",
    token: () => Promise.resolve("t"),
    fetch: (input) => {
      asked.push(new Request(input).url);
      return Promise.resolve(Response.json({ conversations: [], cursor: "a=b" }));
    },
  }).api;

  const { cursor } = await api.pageConversations(null);
  await api.pageConversations(cursor);

  expect(asked.map((url) => url.replace("http://service.test", ""))).toEqual([
    "/conversations",
    "/conversations?cursor=a%3Db",
  ]);
});

test("archiving answers without a body", async () => {
  const api = answering(() => new Response(null, { status: 204 }));
  await expect(api.archiveConversation("c")).resolves.toBeUndefined();
});
