/** Builds envelopes and whole runs for tests. */

import type {
  Control,
  ControlPayloads,
  Envelope,
  EventPayloads,
  EventType,
  Ref,
} from "../src/core/envelopes";

export const RUN = "run-1";
export const CONVERSATION = "conversation-1";
const AT = "2026-01-01T00:00:00Z";
const USAGE = {
  inputTokens: 1,
  outputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

export function envelope<T extends EventType>(
  seq: number,
  type: T,
  payload: EventPayloads[T],
  runId = RUN,
): Envelope {
  return { v: 1, type, runId, conversationId: CONVERSATION, seq, at: AT, payload } as Envelope;
}

export function control<T extends keyof ControlPayloads>(
  type: T,
  payload: ControlPayloads[T],
  runId: string | null = RUN,
): Control {
  return { v: 1, type, runId, conversationId: CONVERSATION, seq: 0, at: AT, payload } as Control;
}

export function ref(n: number): Ref {
  return {
    n,
    passageId: `passage-${n}`,
    documentId: `document-${n}`,
    title: `Title ${n}`,
    headingPath: ["Part", `Section ${n}`],
    quote: `quote ${n}`,
    sourcePath: `folder/${n}.md`,
  };
}

/** A whole run: accepted, one token for each delta, citations, message, done. */
export function runOf(deltas: readonly string[], runId = RUN): Envelope[] {
  const assistantMessageId = `answer-of-${runId}`;
  const userMessageId = `question-of-${runId}`;
  const n = deltas.length;
  return [
    envelope(1, "accepted", { userMessageId, assistantMessageId, mode: "queued" }, runId),
    ...deltas.map((delta, i) => envelope(i + 2, "token", { delta }, runId)),
    envelope(n + 2, "citations", { messageId: assistantMessageId, refs: [ref(1)] }, runId),
    envelope(n + 3, "message", { messageId: assistantMessageId, role: "assistant" }, runId),
    envelope(n + 4, "done", { stopReason: "end_turn", usage: USAGE }, runId),
  ];
}
