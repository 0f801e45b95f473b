import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConversationStore } from "../../src/core";
import { ChatFixture, settle, wait } from "../chat-fixture";
import { CONVERSATION, RUN, control, ref, runOf } from "../envelopes";
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

test("after a dropped socket it subscribes again from its own cursor, as often as it takes", async () => {
  req("F-CORE-02");
  await fixture.ask();
  const run = runOf(["a", "b", "c", "d"]);
  service.socket.push(...run.slice(0, 2));
  for (const cursor of [2, 3, 4]) {
    service.socket.drop();
    await wait(600);
    service.socket.open();
    expect(service.socket.sent.at(-1)).toMatchObject({ runId: RUN, after: cursor });
    service.socket.push(run[cursor - 1], run[cursor]);
  }
  expect(fixture.answer.text).toBe("abcd");
});

test("a missing frame is asked for from the cursor, and then from the log itself", async () => {
  req("F-ENV-06");
  await fixture.ask();
  const run = runOf(["a", "b", "c"]);
  service.log = run;
  service.socket.push(run[0], run[1], run[3]);
  expect(fixture.answer.text).toBe("a");

  await wait(300);
  expect(service.socket.sent.at(-1)).toMatchObject({ action: "resume", runId: RUN, after: 2 });
  await wait(600);

  expect(fixture.answer).toMatchObject({ text: "abc", phase: "ended" });
});

test("frames promised by the acknowledgement of a subscription are fetched if they do not come", async () => {
  await fixture.ask();
  service.log = runOf(["a"]);
  service.socket.push(control("subscribed", { lastSeq: 5, ended: true }));
  await wait(5_000);
  expect(fixture.answer).toMatchObject({ text: "a", phase: "ended" });
});

test("a run whose done was lost is ended from the run itself", async () => {
  req("A-EVT-14");
  await fixture.ask();
  service.socket.push(...runOf(["half"]).slice(0, 2));
  service.run = {
    status: "ended",
    stopReason: "end_turn",
    message: { messageId: "m", text: "half and whole", citations: [ref(2)] },
    error: null,
  };
  service.socket.push(control("subscribed", { lastSeq: 2, ended: true }));
  await settle();

  expect(fixture.answer).toMatchObject({
    text: "half and whole",
    phase: "ended",
    stopReason: "end_turn",
    citations: [ref(2)],
  });
  expect(chat.view.liveRunId).toBeNull();
});

test("silence in a live run makes the reader ask again", async () => {
  await fixture.ask();
  const before = service.socket.sent.length;
  await wait(16_000);
  expect(service.socket.sent.slice(before)).toContainEqual(
    expect.objectContaining({ action: "resume", runId: RUN, after: 0 }),
  );
});

test("without a socket the answer is polled, and the view says so", async () => {
  service.before = ({ path }) =>
    path === "/tickets" ? { status: 503, body: { code: "unavailable" } } : null;
  const sent = chat.send("Hello?");
  await settle();
  await sent;
  service.log = runOf(["a", "b"]).slice(0, 2);
  await wait(6_000);
  expect(chat.view.channel).toBe("polling");
  expect(fixture.answer.text).toBe("a");

  service.log = runOf(["a", "b"]);
  await wait(2_000);

  expect(fixture.answer).toMatchObject({ text: "ab", phase: "ended" });
});

test("a socket that opens only to be cut is no socket either", async () => {
  const sent = fixture.chat.send("Hello?");
  await settle();
  await sent;
  service.log = runOf(["a"]);
  for (let i = 0; i < 4; i += 1) {
    service.socket.open();
    service.socket.drop();
    await wait(3_000);
  }
  expect(fixture.answer).toMatchObject({ text: "a", phase: "ended" });
});

test("a refused subscription falls back to polling", async () => {
  await fixture.ask();
  service.log = runOf(["a"]);
  service.socket.push(control("refused", { code: "unavailable", message: "" }, null));
  await wait(2_000);
  expect(fixture.answer).toMatchObject({ text: "a", phase: "ended" });
});

test("an explicit gap reloads the transcript, and the ended run shows its whole text", async () => {
  await fixture.ask();
  const run = runOf(["a", "b", "c"]);
  service.socket.push(control("gap", { after: 0, next: 4 }), run[3]);
  expect(fixture.answer).toMatchObject({ text: "c", incomplete: true });
  await settle();

  const stored = { runId: RUN, createdAt: "2026-01-01T00:00:00Z" };
  service.messages = [
    { ...stored, messageId: "q", role: "user", text: "Hello there?", citations: [] },
    { ...stored, messageId: "m", role: "assistant", text: "abc", citations: [] },
  ];
  service.socket.push(...run.slice(4));
  await settle();

  expect(fixture.answer).toMatchObject({ text: "abc", incomplete: false });
});

test("reopened, an answer has its steps again, and one without an end is not shown as done", async () => {
  req("A-PROG-01", "A-PROG-03", "A-PROG-08");
  const stored = { runId: RUN, createdAt: "2026-01-01T00:00:00Z", citations: [] };
  const step = { toolCallId: "t1", tool: "search_docs", label: "Searching the documents" };
  service.messages = [
    { ...stored, messageId: "q", role: "user", text: "Q" },
    {
      ...stored,
      messageId: "m",
      role: "assistant",
      text: "abc",
      steps: [
        { ...step, state: "done", summary: "Found 2 passages in 1 document" },
        { ...step, toolCallId: "t2", state: "unreported", summary: null },
      ],
    },
  ];

  await chat.open(CONVERSATION);

  expect(fixture.answer.activity).toEqual([
    { kind: "tool", ...step, state: "done", summary: "Found 2 passages in 1 document" },
    { kind: "tool", ...step, toolCallId: "t2", state: "unreported", summary: null },
  ]);
});

test("reopened, a run that left no answer shows what it had begun", async () => {
  req("A-PROG-03");
  const step = { toolCallId: "t1", tool: "look", label: "Looking", summary: null };
  service.messages = [
    {
      messageId: "q",
      role: "user",
      text: "Q",
      citations: [],
      steps: [{ ...step, state: "unreported" }],
      runId: RUN,
      createdAt: "",
    },
  ];

  await chat.open(CONVERSATION);

  expect(chat.view.messages.map((m) => m.role)).toEqual(["user", "assistant"]);
  expect(fixture.answer).toMatchObject({ phase: "ended", text: "" });
  expect(fixture.answer.activity).toEqual([{ kind: "tool", ...step, state: "unreported" }]);
});

test("opening a conversation in mid-answer rejoins its run from the beginning", async () => {
  req("F-CORE-02");
  service.activeRunId = RUN;
  service.messages = [
    {
      messageId: `question-of-${RUN}`,
      role: "user",
      text: "Q",
      citations: [],
      runId: RUN,
      createdAt: "",
    },
  ];
  const opened = chat.open(CONVERSATION);
  await settle();
  service.socket.open();
  await opened;
  expect(service.socket.sent.at(-1)).toMatchObject({ runId: RUN, after: 0 });
  expect(chat.view.liveRunId).toBe(RUN);

  service.socket.push(...runOf(["answer"]));

  expect(chat.view.messages.map((m) => m.text)).toEqual(["Q", "answer"]);
});

test("a run that failed before the page was opened is shown as history and can be followed by another", async () => {
  service.messages = [
    { messageId: "q", role: "user", text: "Q", citations: [], runId: "old", createdAt: "" },
  ];
  service.run = {
    status: "ended",
    stopReason: "error",
    error: { code: "internal", message: "It broke." },
    message: null,
  };
  await chat.open(CONVERSATION);
  expect(fixture.answer).toMatchObject({ phase: "ended", error: { code: "internal" } });

  service.socket.open();
  await chat.send("Again?");
  service.socket.push(...runOf(["fine"]));

  expect(fixture.answer).toMatchObject({ text: "fine", error: null });
  expect(chat.view.problem).toBeNull();
});

test("a question asked in another tab appears here with its answer", async () => {
  await chat.open(CONVERSATION);
  service.socket.open();
  expect(service.socket.sent.at(-1)).toEqual({ action: "subscribe", conversationId: CONVERSATION });
  service.activeRunId = RUN;
  service.messages = [
    {
      messageId: `question-of-${RUN}`,
      role: "user",
      text: "Q",
      citations: [],
      runId: RUN,
      createdAt: "",
    },
  ];

  service.socket.push(...runOf(["answer"]).slice(0, 2));
  await settle();

  expect(chat.view.messages.map((m) => m.text)).toEqual(["Q", "answer"]);
  expect(chat.view.liveRunId).toBe(RUN);
});
