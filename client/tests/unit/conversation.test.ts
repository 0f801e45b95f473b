import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConversationStore } from "../../src/core";
import { ChatFixture, settle, wait } from "../chat-fixture";
import { CONVERSATION, RUN, envelope, ref, runOf } from "../envelopes";
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

test("a question makes a conversation under the surface's profile and the answer comes on the socket", async () => {
  req("F-CORE-03", "F-CORE-04", "F-ENV-01");
  await fixture.ask();
  expect(service.called("POST", /^\/conversations$/)[0]?.body).toEqual({
    profile: "docs",
    title: "Hello",
  });
  expect(service.socket.url).toBe("ws://service.test/live?ticket=t");
  expect(service.socket.sent.at(-1)).toMatchObject({ action: "subscribe", runId: RUN, after: 0 });

  service.socket.push(...runOf(["Yes", ", so", " it is."]));

  expect(chat.view.messages.map((m) => [m.role, m.text])).toEqual([
    ["user", "Hello there?"],
    ["assistant", "Yes, so it is."],
  ]);
  expect(fixture.answer).toMatchObject({
    phase: "ended",
    stopReason: "end_turn",
    citations: [ref(1)],
  });
  expect(chat.view).toMatchObject({ liveRunId: null, channel: "live", problem: null });
});

test("steps, tools, artifacts, proposals and suggestions are shown from envelopes alone", async () => {
  req("F-CORE-03", "A-EVT-02", "A-EVT-03");
  await fixture.ask();
  service.socket.push(
    ...runOf([]).slice(0, 1),
    envelope(2, "step", { stage: "retrieving", label: "Looking" }),
    envelope(3, "tool_start", { toolCallId: "a", tool: "search", label: "Searching" }),
    envelope(4, "tool_start", { toolCallId: "b", tool: "read", label: "Reading" }),
    envelope(5, "tool_end", { toolCallId: "a", ok: true, summary: "3 passages" }),
    envelope(6, "artifact", { artifactId: "x", kind: "report", title: "Report" }),
    envelope(7, "proposal", { draftId: "d", kind: "item", title: "Add item" }),
    envelope(8, "suggestion", { suggestionId: "s", text: "Ask more" }),
  );

  expect(fixture.answer).toMatchObject({
    phase: "working",
    activity: [
      { kind: "step", label: "Looking" },
      { kind: "tool", label: "Searching", state: "done", summary: "3 passages" },
      { kind: "tool", label: "Reading", state: "running" },
    ],
    artifacts: [{ title: "Report" }],
    proposals: [{ title: "Add item" }],
    suggestions: [{ text: "Ask more" }],
  });
});

test("an unknown type is reported once and skipped, and what follows is shown", async () => {
  req("F-ENV-08");
  await fixture.ask();
  const [accepted, first, ...rest] = runOf(["a", "b"]);
  const strange = { ...first, type: "hologram", seq: 3 };
  service.socket.push(accepted, first, strange, { ...strange, seq: 4 });
  service.socket.push(...rest.map((event) => ({ ...event, seq: event.seq + 2 })));
  await settle();

  expect(fixture.answer).toMatchObject({ text: "ab", phase: "ended" });
  expect(service.called("POST", /interactions$/).map(({ body }) => body)).toEqual([
    { kind: "unknown_envelope", runId: RUN, data: { type: "hologram", seq: 3 } },
  ]);
});

test("an answer that an unknown type may have changed is shown as it was kept", async () => {
  req("F-ENV-08");
  await fixture.ask();
  const [accepted, first, ...rest] = runOf(["a", "b"]);
  const kept = { runId: RUN, createdAt: "", citations: [] };
  service.messages = [
    { ...kept, messageId: "q", role: "user", text: "Hello there?" },
    { ...kept, messageId: "m", role: "assistant", text: "b alone" },
  ];
  service.socket.push(accepted, first, { ...first, type: "hologram", seq: 3 });
  service.socket.push(...rest.map((event) => ({ ...event, seq: event.seq + 1 })));
  expect(fixture.answer.text).toBe("ab");
  await settle();

  expect(fixture.answer).toMatchObject({ text: "b alone", phase: "ended", stopReason: "end_turn" });
});

test("a frame that is no envelope is reported and the run goes on", async () => {
  await fixture.ask();
  service.socket.pushText("not json");
  service.socket.push(...runOf(["a"]));
  await settle();
  expect(fixture.answer.text).toBe("a");
  expect(service.called("POST", /interactions$/)).toHaveLength(1);
});

test("another contract version makes the page out of date, visibly and for good", async () => {
  await fixture.ask();
  service.socket.push({ ...envelope(1, "token", { delta: "x" }), v: 2 });
  expect(chat.view.outdated).toBe(true);
  expect(service.socket.closed).toBe(true);
  expect(await chat.send("more")).toBe(false);
});

test("a refused question leaves the transcript and says why", async () => {
  service.before = ({ path }) =>
    path.endsWith("/messages")
      ? {
          status: 429,
          body: { code: "rate_limited", detail: "Too many." },
          headers: { "retry-after": "7", "content-type": "application/problem+json" },
        }
      : null;
  expect(await chat.send("Hello?")).toBe(false);
  expect(chat.view.messages).toEqual([]);
  expect(chat.view.problem).toMatchObject({ code: "rate_limited", status: 429, retryAfterS: 7 });
});

test("Stop reaches the run itself, and a question sent at once waits for the run to let go", async () => {
  await fixture.ask();
  service.socket.push(...runOf(["half", "way"]).slice(0, 2));
  await chat.stop();
  expect(service.called("POST", /\/runs\/run-1\/cancel$/)).toHaveLength(1);
  expect(chat.view.stopping).toBe(true);

  let refusals = 2;
  service.before = ({ method, path }) =>
    method === "POST" && path.endsWith("/messages") && refusals-- > 0
      ? { status: 409, body: { code: "turn_in_progress" } }
      : null;
  const sent = chat.send("Something else?");
  await settle();
  const usage = runOf([]).at(-1);
  service.socket.push({ ...usage, seq: 3, payload: { stopReason: "cancelled" } });
  await wait(2_000);

  expect(await sent).toBe(true);
  expect(chat.view.messages.map((m) => m.text)).toContain("Something else?");
  expect(fixture.answer).toMatchObject({ text: "half", stopReason: "cancelled" });
});

test("a conversation that stays busy gives the question back and shows the run that holds it", async () => {
  await chat.open(CONVERSATION);
  service.activeRunId = RUN;
  service.before = ({ path }) =>
    path.endsWith("/messages") ? { status: 409, body: { code: "turn_in_progress" } } : null;
  const sent = chat.send("Hello?");
  await wait(10_000);
  expect(await sent).toBe(false);
  expect(chat.view.problem?.code).toBe("turn_in_progress");
  expect(chat.view.liveRunId).toBe(RUN);
});

test("what comes for a conversation that was left is ignored", async () => {
  await fixture.ask();
  await chat.open(null);
  service.socket.push(...runOf(["late"]));
  expect(chat.view.messages).toEqual([]);
  expect(service.socket.sent.at(-1)).toMatchObject({ action: "unsubscribe" });
});
