import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConversationStore } from "../../src/core";
import { ChatFixture, settle, wait } from "../chat-fixture";
import { CONVERSATION, RUN, control, runOf } from "../envelopes";
import { req } from "../req";
import type { ScriptedService } from "../scripted-service";

let fixture: ChatFixture;
let service: ScriptedService;
let chat: ConversationStore;

beforeEach(() => {
  vi.useFakeTimers();
  fixture = new ChatFixture();
  ({ service, chat } = fixture);
});

afterEach(() => {
  chat.close();
  vi.useRealTimers();
});

test("a live run that misses two heartbeats is heard again over a new connection", async () => {
  req("F-CORE-02");
  await fixture.ask();
  const run = runOf(["a", "b"]);
  service.socket.push(run[0], run[1]);
  for (let i = 0; i < 8; i += 1) {
    await wait(15_000);
    service.socket.push(control("pong", {}, null), control("heartbeat", { lastSeq: 2 }));
  }
  expect(service.sockets).toHaveLength(1);

  const silent = service.socket;
  await wait(17_000);
  expect(silent.sent.at(-1)).toMatchObject({ action: "resume", runId: RUN, after: 2 });
  expect(service.sockets).toHaveLength(1);
  await wait(16_000);

  expect(silent.closed).toBe(true);
  expect(service.sockets).toHaveLength(2);
  service.socket.open();
  expect(service.socket.sent.at(-1)).toMatchObject({ action: "subscribe", runId: RUN, after: 2 });
  service.socket.push(...run.slice(2));
  expect(fixture.answer).toMatchObject({ text: "ab", phase: "ended" });
});

test("a connection that answers is kept, however late the heartbeats are", async () => {
  await fixture.ask();
  const run = runOf(["a", "b"]);
  service.log = run;
  service.socket.push(run[0], run[1]);
  await wait(16_500);
  service.socket.push(control("subscribed", { lastSeq: 2, ended: false }));
  await wait(14_000);
  expect(service.sockets).toHaveLength(1);
  service.socket.push(control("heartbeat", { lastSeq: 2 }));
  await wait(15_000);
  expect(service.sockets).toHaveLength(1);
});

test("once a run has ended its silence is no break", async () => {
  await fixture.ask();
  service.socket.push(...runOf(["a"]));
  for (let i = 0; i < 4; i += 1) {
    await wait(30_000);
    service.socket.push(control("pong", {}, null));
  }
  expect(service.sockets).toHaveLength(1);
});

test("a heartbeat that knows of more than has come makes the reader ask for it", async () => {
  await fixture.ask();
  const run = runOf(["a", "b"]);
  service.socket.push(run[0], run[1]);
  service.socket.push(control("heartbeat", { lastSeq: 3 }));
  await wait(1_600);
  expect(service.socket.sent.at(-1)).toMatchObject({ action: "resume", runId: RUN, after: 2 });
});

test("a heartbeat of a run of which nothing came makes the reader follow it", async () => {
  await chat.open(CONVERSATION);
  service.socket.open();
  service.socket.push(control("heartbeat", { lastSeq: 3 }));
  expect(service.socket.sent.at(-1)).toMatchObject({ action: "subscribe", runId: RUN, after: 0 });
});

test("a socket whose token has ended is replaced by one with a new ticket", async () => {
  await fixture.ask();
  const run = runOf(["a", "b"]);
  service.socket.push(run[0], run[1]);
  service.socket.push(control("refused", { code: "token_expired", message: "" }, null));
  await settle();

  expect(service.called("POST", /tickets/)).toHaveLength(2);
  service.socket.open();
  expect(service.socket.sent.at(-1)).toMatchObject({ action: "subscribe", runId: RUN, after: 2 });
  expect(chat.view.channel).toBe("live");
});

test("a service that refuses every token is not asked without end", async () => {
  await fixture.ask();
  for (let i = 0; i < 3; i += 1) {
    service.socket.push(control("refused", { code: "token_expired", message: "" }, null));
    await settle();
    service.socket.open();
  }
  expect(service.sockets).toHaveLength(2);
});
