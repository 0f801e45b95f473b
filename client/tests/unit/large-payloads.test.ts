import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConversationStore, Envelope } from "../../src/core";
import { ChatFixture, settle, wait } from "../chat-fixture";
import { CONVERSATION, ref, runOf } from "../envelopes";
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

const LARGE = { artifactId: "artifact-1", sizeBytes: 200_000 };

function referring(run: Envelope[], at: number): unknown[] {
  return run.map((event, i) => (i === at ? { ...event, payload: {}, payloadRef: LARGE } : event));
}

test("a payload too large for a frame is fetched, and takes its place in the order", async () => {
  await fixture.ask();
  const run = runOf(["a"]);
  const bodies: ((body: unknown) => void)[] = [];
  service.before = ({ path }) =>
    path.includes("/artifacts/")
      ? (new Promise<unknown>((resolve) =>
          bodies.push((body) => resolve({ body })),
        ) as Promise<never>)
      : null;
  const frames = referring(run, 2);
  service.socket.push(...frames);
  service.socket.push(...frames);
  await settle();
  expect(fixture.answer).toMatchObject({ text: "a", phase: "answering", citations: null });

  bodies[0]?.(run[2]?.payload);
  await settle();

  expect(fixture.answer).toMatchObject({ phase: "ended", citations: [ref(1)] });
  expect(service.called("GET", /artifacts/).map((call) => call.path)).toEqual([
    `/conversations/${CONVERSATION}/artifacts/artifact-1`,
  ]);
});

test("a payload that does not come at once is asked for again", async () => {
  await fixture.ask();
  const run = runOf(["a"]);
  let tries = 0;
  service.before = ({ path }) => {
    if (!path.includes("/artifacts/")) return null;
    tries += 1;
    return tries === 1 ? { status: 503, body: {} } : { body: run[2]?.payload };
  };
  service.log = referring(run, 2) as Envelope[];
  service.socket.push(...service.log);
  await wait(2_000);
  expect(fixture.answer).toMatchObject({ phase: "ended", citations: [ref(1)] });
});

test("a payload that is gone leaves a gap, not a reader who waits", async () => {
  await fixture.ask();
  service.before = ({ path }) =>
    path.includes("/artifacts/") ? { status: 404, body: { code: "not_found" } } : null;
  const loads = service.called("GET", /^\/conversations\/[^/]+$/).length;
  service.socket.push(...referring(runOf(["a"]), 2));
  await settle();
  expect(fixture.answer.phase).toBe("ended");
  expect(service.called("GET", /^\/conversations\/[^/]+$/).length).toBeGreaterThan(loads);
});
