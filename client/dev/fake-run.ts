/** One run of the fake service: a scripted list of events, logged before they are published. */

import type { Envelope, EventPayloads, EventType, Ref, StopReason } from "../src/core";
import { ANSWER, REFS } from "./documents.ts";

/** What goes wrong, chosen by words in the question so that it can be tried by hand. */
export interface Faults {
  /** Drop the socket after every so many frames. */
  drop: boolean;
  /** Send frames out of order, and some of them twice. */
  shuffle: boolean;
  /** Lose some frames altogether. */
  lose: boolean;
  /** Send no `done`. */
  endless: boolean;
  /** End in an error. */
  fail: boolean;
  /** Send a type that no page knows. */
  strange: boolean;
  /** Send under a newer contract version. */
  newer: boolean;
  /** Take ten times as long. */
  slowly: boolean;
}

export function readFaults(question: string): Faults {
  const says = (word: string): boolean => new RegExp(`\\b${word}\\b`, "i").test(question);
  return {
    drop: says("drop"),
    shuffle: says("shuffle"),
    lose: says("lose"),
    endless: says("endless"),
    fail: says("fail"),
    strange: says("strange"),
    newer: says("newer"),
    slowly: says("slowly"),
  };
}

const USAGE = {
  inputTokens: 900,
  outputTokens: 240,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

export class FakeRun {
  readonly runId: string;
  readonly conversationId: string;
  readonly question: string;
  readonly faults: Faults;
  readonly messageIds: { user: string; assistant: string };
  readonly log: Envelope[] = [];
  text = "";
  refs: Ref[] = [];
  stopReason: StopReason | null = null;
  error: { code: string; message: string } | null = null;
  cancelled = false;
  readonly #publish: (run: FakeRun, event: Envelope) => void;
  readonly #stepMs: number;

  constructor(
    ids: { runId: string; conversationId: string },
    question: string,
    pace: { stepMs: number; publish: (run: FakeRun, event: Envelope) => void },
  ) {
    this.runId = ids.runId;
    this.conversationId = ids.conversationId;
    this.question = question;
    this.faults = readFaults(question);
    this.messageIds = { user: `question-${ids.runId}`, assistant: `answer-${ids.runId}` };
    this.#stepMs = pace.stepMs * (this.faults.slowly ? 10 : 1);
    this.#publish = pace.publish;
  }

  get ended(): boolean {
    return this.stopReason !== null;
  }

  async play(): Promise<void> {
    const messageId = this.messageIds.assistant;
    this.#emit("accepted", {
      userMessageId: this.messageIds.user,
      assistantMessageId: messageId,
      mode: "queued",
    });
    await this.#prepare();
    if (this.faults.fail) {
      this.#fail();
      return;
    }
    this.#emit("step", { stage: "answering", label: "Writing the answer" });
    for (const delta of ANSWER.match(/[\s\S]{1,9}/gu) ?? []) {
      if (this.cancelled) break;
      this.text += delta;
      this.#emit("token", { delta });
      await this.#pause(1);
    }
    if (this.cancelled) {
      this.#end("cancelled");
      return;
    }
    this.#emit("step", { stage: "verifying", label: "Checking the citations" });
    await this.#pause(8);
    this.refs = [...REFS];
    this.#emit("citations", { messageId, refs: this.refs });
    this.#emit("message", { messageId, role: "assistant" });
    this.#end("end_turn");
  }

  async #prepare(): Promise<void> {
    this.#emit("step", { stage: "queued", label: "Waiting for a worker" });
    await this.#pause(6);
    const search = { toolCallId: "t1", tool: "search", label: "Searching the documents" };
    this.#emit("tool_start", search);
    await this.#pause(25);
    this.#emit("tool_end", { toolCallId: "t1", ok: true, summary: "6 passages" });
    this.#emit("tool_start", { toolCallId: "t2", tool: "read", label: "Reading Signing keys" });
    await this.#pause(12);
    this.#emit("tool_end", { toolCallId: "t2", ok: true });
    if (this.faults.strange) this.#emit("hologram" as "message", { messageId: "", role: "user" });
  }

  #fail(): void {
    this.error = {
      code: "provider_unavailable",
      message: "The model could not be reached. Ask again in a moment.",
    };
    this.#emit("error", this.error);
    this.#end("error");
  }

  #end(stopReason: StopReason): void {
    this.stopReason = stopReason;
    if (!this.faults.endless) this.#emit("done", { stopReason, usage: USAGE });
  }

  #emit<T extends EventType>(type: T, payload: EventPayloads[T]): void {
    const event = {
      v: this.faults.newer && type === "token" ? 2 : 1,
      type,
      runId: this.runId,
      conversationId: this.conversationId,
      seq: this.log.length + 1,
      at: new Date().toISOString(),
      payload,
    } as Envelope;
    this.log.push(event);
    this.#publish(this, event);
  }

  #pause(steps: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, steps * this.#stepMs));
  }
}
