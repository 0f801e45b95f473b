/** The conversation as it is shown, made from envelopes alone. */

import type {
  ArtifactPayload,
  Envelope,
  ProposalPayload,
  Ref,
  StopReason,
  SuggestionPayload,
  ToolEndPayload,
  UiActionPayload,
} from "./envelopes";
import type { Run, StoredMessage, StoredStep } from "./resources";

export interface ToolActivity {
  readonly kind: "tool";
  readonly toolCallId: string;
  readonly tool: string;
  readonly label: string;
  /** `unreported`: kept as begun, without an end; it did not say that it completed. */
  readonly state: "running" | "done" | "failed" | "unreported";
  readonly summary: string | null;
}

export interface StepActivity {
  readonly kind: "step";
  readonly stage: string;
  readonly label: string;
}

export type Activity = StepActivity | ToolActivity;

/** A page of the product that an answer leads to; `path` begins with one "/" and stays within the product. */
export interface PageLink {
  readonly path: string;
  readonly label: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly messageId: string;
  readonly runId: string | null;
  readonly text: string;
  /** Not yet accepted by the service. */
  readonly pending: boolean;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly messageId: string;
  readonly runId: string | null;
  readonly text: string;
  /** `working` until the first words, `ended` once the run has; nothing follows that. */
  readonly phase: "working" | "answering" | "ended";
  /** Steps and tools, in the order they began. */
  readonly activity: readonly Activity[];
  /** Null until the citations have been verified and sent. */
  readonly citations: readonly Ref[] | null;
  readonly artifacts: readonly ArtifactPayload[];
  readonly proposals: readonly ProposalPayload[];
  readonly suggestions: readonly SuggestionPayload[];
  /** Where the answer wants to take the reader. A host that moves there by itself shows no link. */
  readonly page: PageLink | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Why the run ended; null while it lives, and for history that does not say. */
  readonly stopReason: StopReason | null;
  /** Part of the text could not be had from the channel. */
  readonly incomplete: boolean;
}

export type TranscriptMessage = UserMessage | AssistantMessage;
export type Transcript = readonly TranscriptMessage[];

/** An answer of which nothing has come yet. */
export function blankAnswer(runId: string | null, messageId: string): AssistantMessage {
  return {
    role: "assistant",
    messageId,
    runId,
    text: "",
    phase: "working",
    activity: [],
    citations: null,
    artifacts: [],
    proposals: [],
    suggestions: [],
    page: null,
    error: null,
    stopReason: null,
    incomplete: false,
  };
}

/** The next transcript after one envelope. Envelopes are taken in order, each once. */
export function applyEnvelope(transcript: Transcript, envelope: Envelope): Transcript {
  return changeAnswer(transcript, envelope.runId, (answer) => applyToAnswer(answer, envelope));
}

function applyToAnswer(answer: AssistantMessage, envelope: Envelope): AssistantMessage {
  switch (envelope.type) {
    case "accepted":
      return { ...answer, messageId: envelope.payload.assistantMessageId };
    case "step":
      return addActivity(answer, { kind: "step", ...envelope.payload });
    case "token":
      return { ...answer, phase: "answering", text: answer.text + envelope.payload.delta };
    case "restart":
      return restartText(answer, envelope.payload.text);
    case "tool_start":
      return addActivity(answer, {
        kind: "tool",
        ...envelope.payload,
        state: "running",
        summary: null,
      });
    case "tool_end":
      return endTool(answer, envelope.payload);
    case "artifact":
      return { ...answer, artifacts: [...answer.artifacts, envelope.payload] };
    case "proposal":
      return { ...answer, proposals: [...answer.proposals, envelope.payload] };
    case "suggestion":
      return { ...answer, suggestions: [...answer.suggestions, envelope.payload] };
    case "citations":
      return { ...answer, citations: envelope.payload.refs };
    case "error":
      return { ...answer, error: envelope.payload };
    case "done":
      return endAnswer(answer, envelope.payload.stopReason);
    case "ui_action":
      return { ...answer, page: readPage(envelope.payload) ?? answer.page };
    // These change nothing in the transcript.
    case "message":
    case "continuation_claimed":
      return answer;
  }
}

/** The page that an action names; null for any other action, and for an address outside the product. */
function readPage({ action, path, label }: UiActionPayload): PageLink | null {
  if (action !== "navigate" || typeof path !== "string" || typeof label !== "string") return null;
  return /^\/(?![/\\])[\w.~/-]*$/.test(path) ? { path, label } : null;
}

/** The next transcript once the run itself has told how it ended. */
export function applyEndedRun(transcript: Transcript, runId: string, run: Run | null): Transcript {
  return changeAnswer(transcript, runId, (answer) => {
    const message = run?.message;
    const ended = endAnswer(answer, run?.stopReason ?? "error");
    const error = run === null ? { code: "not_found", message: "" } : (run.error ?? answer.error);
    if (!message) return { ...ended, error };
    const { messageId, text, citations } = message;
    return { ...ended, error, messageId, text, citations, incomplete: false };
  });
}

/** Mark that part of an answer was lost on the way. */
export function markIncomplete(transcript: Transcript, runId: string): Transcript {
  return changeAnswer(transcript, runId, (answer) => ({ ...answer, incomplete: true }));
}

/**
 * The transcript as the service keeps it, with what only this page knows laid over it:
 * the live answer, how runs went, and questions still on their way.
 */
export function mergeStored(
  local: Transcript,
  stored: readonly StoredMessage[],
  activeRunId: string | null,
): Transcript {
  const answers = new Map(
    local.filter((m): m is AssistantMessage => m.role === "assistant").map((m) => [m.runId, m]),
  );
  const merged: TranscriptMessage[] = stored
    .filter((m) => m.role === "user" || m.runId === null || m.runId !== activeRunId)
    .flatMap((m) => {
      if (m.role === "assistant") return [storedAnswer(m, answers.get(m.runId))];
      const left = m.runId === activeRunId ? null : leftSteps(m, answers);
      return left === null ? [storedQuestion(m)] : [storedQuestion(m), left];
    });
  const kept = new Set(merged.map(identityOf));
  if (activeRunId !== null && !kept.has(`answer ${activeRunId}`)) {
    const live = answers.get(activeRunId) ?? blankAnswer(activeRunId, `answer ${activeRunId}`);
    merged.push(live);
    kept.add(identityOf(live));
  }
  return [...merged, ...local.filter((message) => !kept.has(identityOf(message)))];
}

/** An answer is known by its run, for its message id may still be to come. */
function identityOf(message: TranscriptMessage): string {
  return message.role === "assistant" && message.runId !== null
    ? `answer ${message.runId}`
    : message.messageId;
}

function storedQuestion(stored: StoredMessage): UserMessage {
  const { messageId, runId, text } = stored;
  return { role: "user", messageId, runId, text, pending: false };
}

function storedAnswer(
  stored: StoredMessage,
  known: AssistantMessage | undefined,
): AssistantMessage {
  const base = known ?? blankAnswer(stored.runId, stored.messageId);
  const { messageId, text, citations, steps = [] } = stored;
  const activity = base.activity.length > 0 ? base.activity : steps.map(storedStep);
  return { ...base, messageId, text, citations, activity, phase: "ended", incomplete: false };
}

/** What a run that left no answer did; null where there is nothing to tell, or the page knows better. */
function leftSteps(
  question: StoredMessage,
  answers: ReadonlyMap<string | null, AssistantMessage>,
): AssistantMessage | null {
  const { runId, steps = [] } = question;
  if (runId === null || steps.length === 0 || answers.has(runId)) return null;
  const activity = steps.map(storedStep);
  return { ...blankAnswer(runId, `answer ${runId}`), phase: "ended", activity };
}

function storedStep(step: StoredStep): ToolActivity {
  return { kind: "tool", ...step };
}

function changeAnswer(
  transcript: Transcript,
  runId: string,
  change: (answer: AssistantMessage) => AssistantMessage,
): Transcript {
  const at = transcript.findIndex((m) => m.role === "assistant" && m.runId === runId);
  const found = transcript[at];
  if (found?.role !== "assistant") {
    return [...transcript, change(blankAnswer(runId, `answer ${runId}`))];
  }
  return transcript.with(at, change(found));
}

function addActivity(answer: AssistantMessage, activity: Activity): AssistantMessage {
  return { ...answer, activity: [...answer.activity, activity] };
}

/** Whatever was shown or missed before, this is now the text. */
function restartText(answer: AssistantMessage, text: string): AssistantMessage {
  return { ...answer, phase: text === "" ? "working" : "answering", text, incomplete: false };
}

function endTool(answer: AssistantMessage, ended: ToolEndPayload): AssistantMessage {
  const activity = answer.activity.map((item) =>
    item.kind === "tool" && item.toolCallId === ended.toolCallId
      ? ({ ...item, state: ended.ok ? "done" : "failed", summary: ended.summary ?? null } as const)
      : item,
  );
  return { ...answer, activity };
}

/** Whatever still seemed to run has stopped with the run. */
function endAnswer(answer: AssistantMessage, stopReason: StopReason): AssistantMessage {
  const activity = answer.activity.map((item) =>
    item.kind === "tool" && item.state === "running"
      ? ({ ...item, state: "failed" } as const)
      : item,
  );
  return { ...answer, phase: "ended", stopReason, activity };
}
