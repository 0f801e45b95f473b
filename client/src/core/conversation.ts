/** One conversation as a view: open it, ask, stop, and be told of every change. */

import type { AssistantApi } from "./api";
import type { Envelope } from "./envelopes";
import { RunFeed, type FeedOptions } from "./feed";
import type { UnknownEvent } from "./frames";
import { ApiProblem } from "./problems";
import type { Acknowledgement, Run } from "./resources";
import {
  applyEndedRun,
  applyEnvelope,
  markIncomplete,
  mergeStored,
  type Transcript,
  type UserMessage,
} from "./transcript";
import { EMPTY_VIEW, type ConversationView } from "./view";

/** What differs from surface to surface. */
export interface ConversationOptions {
  /** The assistant profile that new conversations use; the service's default if left out. */
  profile?: string;
  /** Names a new conversation after its first question. */
  titleFor?: (question: string) => string;
}

export interface ConversationParts {
  api: AssistantApi;
  channel: Omit<FeedOptions, "api" | "listener">;
}

const BUSY_RETRIES_MS = [250, 500, 1_000, 1_500, 2_000, 2_500];

export class ConversationStore {
  readonly #api: AssistantApi;
  readonly #options: ConversationOptions;
  readonly #feed: RunFeed;
  readonly #subscribers = new Set<(view: ConversationView) => void>();
  readonly #reported = new Set<string>();
  /** Runs with an event of a type this page does not know, which may have changed the answer. */
  readonly #unsure = new Set<string>();
  #view: ConversationView = EMPTY_VIEW;
  #questions = 0;
  /** Counts what was opened, so that an answer to what was left behind is ignored. */
  #opened = 0;

  constructor(parts: ConversationParts, options: ConversationOptions = {}) {
    this.#api = parts.api;
    this.#options = options;
    this.#feed = new RunFeed({
      ...parts.channel,
      api: parts.api,
      listener: {
        onEvent: (event) => this.#onEvent(event),
        onUnknown: (event) => this.#report(event.type, event),
        onUnreadable: () => this.#report("unreadable", null),
        onForeign: () => this.#onForeign(),
        onGap: (runId) => this.#onGap(runId),
        onEnded: (runId, run) => this.#onEnded(runId, run),
        onChannel: (channel) => {
          if (channel !== this.#view.channel) this.#change({ channel });
        },
      },
    });
  }

  get view(): ConversationView {
    return this.#view;
  }

  /** Be told of every new view; returns how to stop. */
  subscribe(subscriber: (view: ConversationView) => void): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** Show a conversation, rejoining its run if one is live; null shows an empty, new one. */
  async open(conversationId: string | null): Promise<void> {
    if (conversationId !== null && conversationId === this.#view.conversationId) return;
    this.#opened += 1;
    const { channel, outdated } = this.#view;
    this.#change({
      ...EMPTY_VIEW,
      channel,
      outdated,
      conversationId,
      loading: conversationId !== null,
    });
    this.#feed.watch(conversationId);
    if (conversationId === null) return;
    await this.#load(conversationId);
    if (conversationId === this.#view.conversationId) await this.#recallLastRun();
  }

  /**
   * Ask a question, in a new conversation if none is open.
   *
   * Returns whether the service accepted it; if not, the view's `problem` says why and the
   * question is no longer in the transcript, so keep what was typed.
   */
  async send(text: string): Promise<boolean> {
    if (this.#view.sending || this.#view.outdated) return false;
    this.#questions += 1;
    const question: UserMessage = {
      role: "user",
      messageId: `question ${this.#questions}`,
      runId: null,
      text,
      pending: true,
    };
    const opened = this.#opened;
    this.#change({ sending: true, problem: null, messages: [...this.#view.messages, question] });
    try {
      const conversationId = this.#view.conversationId ?? (await this.#create(text, opened));
      const accepted = await this.#post(conversationId, text);
      if (this.#opened === opened) this.#onAccepted(question, accepted);
      return true;
    } catch (error) {
      const problem = asProblem(error);
      if (this.#opened === opened) this.#onRefused(question, problem);
      return false;
    }
  }

  /** Ask the worker itself to stop; the view changes when the run has ended. */
  async stop(): Promise<void> {
    const { liveRunId } = this.#view;
    if (liveRunId === null) return;
    this.#change({ stopping: true, problem: null });
    try {
      await this.#api.cancelRun(liveRunId);
    } catch (error) {
      this.#change({ stopping: false, problem: asProblem(error) });
    }
  }

  /** Load the transcript again, as after a failure to load it. */
  async reload(): Promise<void> {
    const { conversationId } = this.#view;
    if (conversationId === null) return;
    this.#change({ loading: true, loadFailed: false, problem: null });
    await this.#load(conversationId);
  }

  dismissProblem(): void {
    this.#change({ problem: null });
  }

  close(): void {
    this.#subscribers.clear();
    this.#feed.close();
  }

  async #create(question: string, opened: number): Promise<string> {
    const { profile, titleFor } = this.#options;
    const { conversationId, title } = await this.#api.createConversation({
      ...(profile === undefined ? {} : { profile }),
      ...(titleFor === undefined ? {} : { title: titleFor(question) }),
    });
    if (this.#opened === opened) {
      this.#change({ conversationId, title });
      this.#feed.watch(conversationId);
    }
    return conversationId;
  }

  /** A run that was just stopped may take a moment to let go of the conversation. */
  async #post(conversationId: string, text: string): Promise<Acknowledgement> {
    for (const delay of BUSY_RETRIES_MS) {
      try {
        return await this.#api.postMessage(conversationId, text);
      } catch (error) {
        if (asProblem(error).code !== "turn_in_progress") throw error;
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
    return this.#api.postMessage(conversationId, text);
  }

  #onAccepted(question: UserMessage, { runId, messageIds }: Acknowledgement): void {
    const asked: UserMessage = { ...question, messageId: messageIds.user, runId, pending: false };
    const messages = this.#view.messages
      .filter((message) => message.messageId !== messageIds.user)
      .map((message) => (message.messageId === question.messageId ? asked : message));
    this.#change({ sending: false, messages });
    this.#follow(runId);
  }

  #onRefused(question: UserMessage, problem: ApiProblem): void {
    const messages = this.#view.messages.filter((m) => m.messageId !== question.messageId);
    this.#change({ sending: false, messages, problem });
    // Another tab may be asking: show its run rather than only our refusal.
    if (problem.code === "turn_in_progress") void this.#refresh();
  }

  async #load(conversationId: string): Promise<void> {
    try {
      const stored = await this.#api.fetchConversation(conversationId);
      if (this.#view.conversationId !== conversationId) return;
      const { title, activeRunId } = stored;
      const messages = mergeStored(this.#view.messages, stored.messages, activeRunId);
      this.#change({ loading: false, loadFailed: false, title, messages });
      if (activeRunId !== null) this.#follow(activeRunId);
    } catch (error) {
      const problem = asProblem(error);
      if (this.#view.conversationId !== conversationId) return;
      this.#change({ loading: false, loadFailed: true, problem });
    }
  }

  async #refresh(): Promise<void> {
    const { conversationId } = this.#view;
    if (conversationId !== null) await this.#load(conversationId);
  }

  /** The stored transcript does not say how a run ended, and the last one may have failed. */
  async #recallLastRun(): Promise<void> {
    const { conversationId, messages, liveRunId } = this.#view;
    const runId = messages.at(-1)?.runId ?? null;
    if (runId === null || liveRunId !== null) return;
    const run = await this.#api.fetchRun(runId).catch(asProblem);
    // Only an embellishment of a transcript that is already shown, so a failure is let pass.
    if (run instanceof ApiProblem || run.status !== "ended") return;
    if (this.#view.conversationId !== conversationId) return;
    this.#change({ messages: applyEndedRun(this.#view.messages, runId, run) });
  }

  #follow(runId: string): void {
    this.#feed.follow(runId);
    const ended = this.#view.messages.some(
      (m) => m.role === "assistant" && m.runId === runId && m.phase === "ended",
    );
    if (!ended) this.#change({ liveRunId: runId });
  }

  #onEvent(event: Envelope): void {
    const messages = applyEnvelope(this.#view.messages, event);
    if (event.type === "done") {
      this.#end(event.runId, messages);
      return;
    }
    this.#change({ messages, liveRunId: event.runId });
    if (event.type === "accepted") this.#fetchForeignQuestion(event.payload.userMessageId);
  }

  /** A question asked in another tab arrives only as the id of its message. */
  #fetchForeignQuestion(messageId: string): void {
    const known = this.#view.messages.some((message) => message.messageId === messageId);
    if (!known && !this.#view.sending) void this.#refresh();
  }

  #onEnded(runId: string, run: Run | null): void {
    this.#end(runId, applyEndedRun(this.#view.messages, runId, run));
  }

  #end(runId: string, messages: Transcript): void {
    const incomplete = messages.some(
      (m) => m.role === "assistant" && m.runId === runId && m.incomplete,
    );
    const over = this.#view.liveRunId === runId || this.#view.liveRunId === null;
    this.#change(over ? { messages, liveRunId: null, stopping: false } : { messages });
    if (incomplete || this.#unsure.delete(runId)) void this.#refresh();
  }

  #onGap(runId: string): void {
    this.#change({ messages: markIncomplete(this.#view.messages, runId) });
    void this.#refresh();
  }

  #onForeign(): void {
    this.#feed.close();
    this.#change({ outdated: true });
  }

  /** Once for each type: a stream of them must not become a stream of reports. */
  #report(type: string, event: UnknownEvent | null): void {
    const { conversationId } = this.#view;
    if (event !== null) this.#unsure.add(event.runId);
    if (conversationId === null || this.#reported.has(type)) return;
    this.#reported.add(type);
    const run = event === null ? {} : { runId: event.runId };
    const data = event === null ? { type } : { type, seq: event.seq };
    // There is nobody to tell if telling fails.
    this.#api
      .recordInteraction(conversationId, { kind: "unknown_envelope", ...run, data })
      .catch(asProblem);
  }

  #change(change: Partial<ConversationView>): void {
    this.#view = { ...this.#view, ...change };
    for (const subscriber of this.#subscribers) subscriber(this.#view);
  }
}

/** The API rejects with nothing but problems; anything else is a bug and stays one. */
function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  throw error;
}
