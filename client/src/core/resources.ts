/** What the HTTP API returns. Times are ISO 8601 in UTC. */

import type { Ref, StopReason, Usage } from "./envelopes";

export interface ConversationSummary {
  conversationId: string;
  title: string | null;
  profile: string;
  createdAt: string;
  updatedAt?: string;
}

export interface ConversationPage {
  conversations: ConversationSummary[];
  cursor: string | null;
}

/** A tool call as it was kept; an `unreported` one has not said that it completed. */
export interface StoredStep {
  toolCallId: string;
  tool: string;
  label: string;
  state: "done" | "failed" | "unreported";
  summary: string | null;
}

export interface StoredMessage {
  messageId: string;
  role: "user" | "assistant";
  text: string;
  citations: Ref[];
  /** Of an answer; of a question, where its run left no answer. */
  steps?: StoredStep[];
  runId: string | null;
  createdAt: string;
}

export interface Conversation extends ConversationSummary {
  /** The run that is answering now, if one is. */
  activeRunId: string | null;
  messages: StoredMessage[];
}

export interface Acknowledgement {
  runId: string;
  conversationId: string;
  messageIds: { user: string; assistant: string };
  mode: "queued" | "inline";
}

export interface Run {
  runId: string;
  conversationId: string;
  status: "queued" | "running" | "ended";
  stopReason: StopReason | null;
  usage: Usage | null;
  message: { messageId: string; text: string; citations: Ref[] } | null;
  error: { code: string; message: string } | null;
  lastSeq: number;
}

export interface EnvelopePage {
  envelopes: unknown[];
  gap: { after: number; next: number } | null;
  ended: boolean;
}

export interface Ticket {
  ticket: string;
  webSocketUrl: string;
}

export interface Passage {
  passageId: string;
  documentId: string;
  title: string;
  headingPath: string[];
  text: string;
  sourcePath: string;
  corpusId: string;
  version: number | string;
}

export interface Corpus {
  corpusId: string;
  documents: number;
  passages: number;
  pending: number;
  failed: number;
  updatedAt: string | null;
}

/** Something the reader did or met that the service should know of. */
export interface Interaction {
  kind: string;
  bucket?: "viewed" | "applied" | "submitted" | "interacted";
  runId?: string;
  /** The message or the suggestion that it was about. */
  about?: string;
  data?: Record<string, unknown>;
}
