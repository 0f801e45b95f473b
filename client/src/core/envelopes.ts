/**
 * The events of a run and the control frames of its channel, as they stand on the wire.
 *
 * Generated from equerry/channel by `make types`; an edit here is undone by the next run.
 */

/** The version every envelope carries in `v`; a page that meets another one must reload. */
export const CONTRACT_VERSION = 1;

export type Stage =
  | "queued"
  | "composing"
  | "retrieving"
  | "answering"
  | "verifying";

export type ExecutionMode =
  | "queued"
  | "inline";

export type StopReason =
  | "end_turn"
  | "max_rounds"
  | "max_tool_calls"
  | "max_tokens"
  | "deadline"
  | "refusal"
  | "cancelled"
  | "interrupted"
  | "error";

/** A source of the answer; `n` is the number inside its markers `⟦n⟧`, from 1 in order of appearance. */
export interface Ref {
  n: number;
  passageId: string;
  documentId: string;
  title: string;
  headingPath: string[];
  quote: string;
  sourcePath: string;
}

/** Tokens of one or more model rounds; every count is >= 0. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

/** A payload too large for a frame: the artifact of the run's conversation that holds it, as JSON. */
export interface PayloadRef {
  artifactId: string;
  sizeBytes: number;
}

/** The run exists; always its first event. */
export interface AcceptedPayload {
  userMessageId: string;
  assistantMessageId: string;
  mode: ExecutionMode;
}

/** What the run is doing now; `label` is ready to be shown. */
export interface StepPayload {
  stage: Stage;
  label: string;
}

/** A chunk of the answer's text; never empty. */
export interface TokenPayload {
  delta: string;
}

/** What was being written is begun anew: of the answer's text so far, only `text` stands. */
export interface RestartPayload {
  text: string;
}

/** A tool call begins. */
export interface ToolStartPayload {
  toolCallId: string;
  tool: string;
  label: string;
}

/** A tool call completed or failed. */
export interface ToolEndPayload {
  toolCallId: string;
  ok: boolean;
  summary?: string;
}

/** Something for the page to do; `details` are spread beside `action` on the wire. */
export interface UiActionPayload {
  action: "navigate" | "draft_review";
  [detail: string]: unknown;
}

/** The verified sources of the answer, in order of `n`. */
export interface CitationsPayload {
  messageId: string;
  refs: Ref[];
}

/** A message is in the transcript; anchors its citations. */
export interface MessagePayload {
  messageId: string;
  role: "user" | "assistant";
}

/** An artifact of this run can be fetched. */
export interface ArtifactPayload {
  artifactId: string;
  kind: string;
  title: string;
}

/** A draft waits for the person's yes. */
export interface ProposalPayload {
  draftId: string;
  kind: string;
  title: string;
}

/** Something the person could ask next. */
export interface SuggestionPayload {
  suggestionId: string;
  text: string;
}

/** This run continues an accepted draft; emitted once, before any model call. */
export interface ContinuationClaimedPayload {
  draftId: string;
}

/** The run failed; `done` follows. */
export interface ErrorPayload {
  code: string;
  message: string;
}

/** The only terminal event, and the last of its run. */
export interface DonePayload {
  stopReason: StopReason;
  usage: Usage;
}

export interface EventPayloads {
  accepted: AcceptedPayload;
  step: StepPayload;
  token: TokenPayload;
  restart: RestartPayload;
  tool_start: ToolStartPayload;
  tool_end: ToolEndPayload;
  ui_action: UiActionPayload;
  citations: CitationsPayload;
  message: MessagePayload;
  artifact: ArtifactPayload;
  proposal: ProposalPayload;
  suggestion: SuggestionPayload;
  continuation_claimed: ContinuationClaimedPayload;
  error: ErrorPayload;
  done: DonePayload;
}

export type EventType = keyof EventPayloads;

export const EVENT_TYPES: readonly EventType[] = [
  "accepted",
  "step",
  "token",
  "restart",
  "tool_start",
  "tool_end",
  "ui_action",
  "citations",
  "message",
  "artifact",
  "proposal",
  "suggestion",
  "continuation_claimed",
  "error",
  "done",
];

export interface EnvelopeOf<T extends EventType> {
  type: T;
  runId: string;
  conversationId: string;
  seq: number;
  at: string;
  v: number;
  payloadRef?: PayloadRef;
  payload: EventPayloads[T];
}

export type Envelope = { [T in EventType]: EnvelopeOf<T> }[EventType];

/** The reader listens now; `lastSeq` is the run's newest event, and what the reader lacks follows. */
export interface SubscribedPayload {
  lastSeq: number;
  ended: boolean;
}

/** The log has forgotten what follows `after`; `next` is the first event it still has: load again. */
export interface GapPayload {
  after: number;
  next: number;
}

/** The run lives and has nothing new to say; `lastSeq` is its newest event. */
export interface HeartbeatPayload {
  lastSeq: number;
}

/** The answer to a ping. */
export type PongPayload = Record<string, never>;

/** A frame was not acted on; the socket stays open. */
export interface RefusedPayload {
  code: string;
  message: string;
}

export interface ControlPayloads {
  subscribed: SubscribedPayload;
  gap: GapPayload;
  heartbeat: HeartbeatPayload;
  pong: PongPayload;
  refused: RefusedPayload;
}

export type ControlType = keyof ControlPayloads;

export const CONTROL_TYPES: readonly ControlType[] = [
  "subscribed",
  "gap",
  "heartbeat",
  "pong",
  "refused",
];

export interface ControlOf<T extends ControlType> {
  type: T;
  runId: string | null;
  conversationId: string | null;
  seq: 0;
  at: string;
  v: number;
  payload: ControlPayloads[T];
}

export type Control = { [T in ControlType]: ControlOf<T> }[ControlType];
