/** The events of a run and the control frames of its channel, as they stand on the wire. */

/** The version every envelope carries in `v`; a page that meets another one must reload. */
export const CONTRACT_VERSION = 1;

export interface Ref {
  n: number;
  passageId: string;
  documentId: string;
  title: string;
  headingPath: string[];
  quote: string;
  sourcePath: string;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

export interface AcceptedPayload {
  userMessageId: string;
  assistantMessageId: string;
  mode: string;
}

export interface StepPayload {
  stage: string;
  label: string;
}

export interface TokenPayload {
  delta: string;
}

export interface ToolStartPayload {
  toolCallId: string;
  tool: string;
  label: string;
}

export interface ToolEndPayload {
  toolCallId: string;
  ok: boolean;
  summary?: string | null;
}

export interface UiActionPayload {
  action: string;
  [argument: string]: unknown;
}

export interface ArtifactPayload {
  artifactId: string;
  kind: string;
  title: string;
}

export interface ProposalPayload {
  draftId: string;
  kind: string;
  title: string;
}

export interface SuggestionPayload {
  suggestionId: string;
  text: string;
}

export interface ContinuationClaimedPayload {
  draftId: string;
}

export interface CitationsPayload {
  messageId: string;
  refs: Ref[];
}

export interface MessagePayload {
  messageId: string;
  role: string;
}

export interface ErrorPayload {
  code: string;
  message: string;
}

export interface DonePayload {
  stopReason: string;
  usage: Usage;
}

export interface EventPayloads {
  accepted: AcceptedPayload;
  step: StepPayload;
  token: TokenPayload;
  tool_start: ToolStartPayload;
  tool_end: ToolEndPayload;
  ui_action: UiActionPayload;
  artifact: ArtifactPayload;
  proposal: ProposalPayload;
  suggestion: SuggestionPayload;
  continuation_claimed: ContinuationClaimedPayload;
  citations: CitationsPayload;
  message: MessagePayload;
  error: ErrorPayload;
  done: DonePayload;
}

export type EventType = keyof EventPayloads;

export const EVENT_TYPES: readonly EventType[] = [
  "accepted",
  "step",
  "token",
  "tool_start",
  "tool_end",
  "ui_action",
  "artifact",
  "proposal",
  "suggestion",
  "continuation_claimed",
  "citations",
  "message",
  "error",
  "done",
];

export interface EnvelopeOf<T extends EventType> {
  v: number;
  type: T;
  runId: string;
  conversationId: string;
  seq: number;
  at: string;
  payload: EventPayloads[T];
}

export type Envelope = { [T in EventType]: EnvelopeOf<T> }[EventType];

export interface SubscribedPayload {
  lastSeq: number;
  ended: boolean;
}

export interface GapPayload {
  after: number;
  next: number;
}

export type PongPayload = Record<string, never>;

export interface RefusedPayload {
  code: string;
  message: string;
}

export interface ControlPayloads {
  subscribed: SubscribedPayload;
  gap: GapPayload;
  pong: PongPayload;
  refused: RefusedPayload;
}

export type ControlType = keyof ControlPayloads;

export const CONTROL_TYPES: readonly ControlType[] = ["subscribed", "gap", "pong", "refused"];

export interface ControlOf<T extends ControlType> {
  v: number;
  type: T;
  runId: string | null;
  conversationId: string | null;
  seq: 0;
  at: string;
  payload: ControlPayloads[T];
}

export type Control = { [T in ControlType]: ControlOf<T> }[ControlType];
