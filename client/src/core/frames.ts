/** Tells what one frame from the channel is, without trusting that it is anything. */

import {
  CONTRACT_VERSION,
  CONTROL_TYPES,
  EVENT_TYPES,
  type Control,
  type Envelope,
} from "./envelopes";

/** An event of a run whose type this page does not know. It still takes its place in the order. */
export interface UnknownEvent {
  readonly type: string;
  readonly runId: string;
  readonly conversationId: string;
  readonly seq: number;
}

export type Frame =
  | { readonly kind: "event"; readonly event: Envelope }
  | { readonly kind: "unknown"; readonly event: UnknownEvent }
  | { readonly kind: "control"; readonly control: Control }
  /** Written under a contract version other than this page's. */
  | { readonly kind: "foreign"; readonly version: unknown }
  | { readonly kind: "unreadable" };

const UNREADABLE: Frame = { kind: "unreadable" };
const events: ReadonlySet<string> = new Set(EVENT_TYPES);
const controls: ReadonlySet<string> = new Set(CONTROL_TYPES);

/** Decode the text of one WebSocket frame. Never throws. */
export function decodeFrame(text: unknown): Frame {
  if (typeof text !== "string") return UNREADABLE;
  try {
    return readFrame(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return UNREADABLE;
    throw error;
  }
}

/** Read one parsed envelope or control frame. */
export function readFrame(value: unknown): Frame {
  if (!isRecord(value) || !("v" in value)) return UNREADABLE;
  if (value.v !== CONTRACT_VERSION) return { kind: "foreign", version: value.v };
  const { type, seq, payload } = value;
  if (typeof type !== "string" || !Number.isInteger(seq) || !isRecord(payload)) return UNREADABLE;
  if (seq === 0) {
    return controls.has(type)
      ? { kind: "control", control: value as unknown as Control }
      : UNREADABLE;
  }
  return readEvent(value, type, seq as number);
}

function readEvent(value: Record<string, unknown>, type: string, seq: number): Frame {
  const { runId, conversationId } = value;
  if (seq < 0 || typeof runId !== "string" || typeof conversationId !== "string") return UNREADABLE;
  return events.has(type)
    ? { kind: "event", event: value as unknown as Envelope }
    : { kind: "unknown", event: { type, runId, conversationId, seq } };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
