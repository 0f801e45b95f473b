/** Follows the runs of one conversation: over the socket, and by polling when there is none. */

import type { AssistantApi } from "./api";
import { Connection, type ConnectionStatus, type Socket } from "./connection";
import type { Control, Envelope, SubscribedPayload } from "./envelopes";
import { decodeFrame, readFrame, type Frame, type UnknownEvent } from "./frames";
import { FollowedRun, type Placed } from "./following";
import { ApiProblem } from "./problems";
import type { Run } from "./resources";
import type { WatchWaking } from "./wakefulness";

/** How the reader is connected; `polling` works too, only less promptly. */
export type ChannelState = "idle" | "connecting" | "live" | "polling" | "offline";

/** What the feed tells its owner. Events come in the order of `seq`, each once. */
export interface FeedListener {
  onEvent: (event: Envelope) => void;
  onUnknown: (event: UnknownEvent) => void;
  onUnreadable: () => void;
  /** The service speaks another contract version. */
  onForeign: () => void;
  /** Part of the run can no longer be had; the transcript has what is left of it. */
  onGap: (runId: string) => void;
  /** The run is over though its `done` never came; `run` is null if the service knows no such run. */
  onEnded: (runId: string, run: Run | null) => void;
  onChannel: (state: ChannelState) => void;
}

export interface FeedOptions {
  api: AssistantApi;
  createSocket: (url: string) => Socket;
  watchWaking: WatchWaking;
  random: () => number;
  listener: FeedListener;
}

const POLL_AFTER_FAILURES = 2;
const POLL_EVERY_MS = 1_200;

export class RunFeed {
  readonly #api: AssistantApi;
  readonly #listener: FeedListener;
  readonly #connection: Connection;
  readonly #stopWatching: () => void;
  readonly #over = new Set<string>();
  #conversationId: string | null = null;
  #run: FollowedRun | null = null;
  #status: ConnectionStatus = "closed";
  #failures = 0;
  #refused = false;
  #renewed = false;
  #polled = false;
  #polling = false;
  #pollFailures = 0;
  #check: ReturnType<typeof setTimeout> | undefined;

  constructor(options: FeedOptions) {
    this.#api = options.api;
    this.#listener = options.listener;
    this.#connection = new Connection({
      createTicket: () => this.#api.createTicket(),
      createSocket: options.createSocket,
      random: options.random,
      onFrame: (data) => this.#receive(decodeFrame(data)),
      onStatus: (status, failures) => this.#onStatus(status, failures),
    });
    this.#stopWatching = options.watchWaking(() => this.#connection.wake());
  }

  /** Listen to a conversation, whichever tab or person asks in it; null to none, with the socket kept warm. */
  watch(conversationId: string | null): void {
    if (this.#conversationId !== null && this.#conversationId !== conversationId) {
      this.#connection.send({ action: "unsubscribe", conversationId: this.#conversationId });
    }
    this.#run = null;
    this.#conversationId = conversationId;
    if (this.#connection.isOpen) this.#subscribe("subscribe");
    else this.#connection.open();
    this.#settleTimers();
  }

  /** Follow a run of the watched conversation from its beginning. */
  follow(runId: string): void {
    if (this.#run?.runId === runId || this.#over.has(runId)) return;
    this.#begin(runId);
    this.#subscribe("subscribe");
    this.#settleTimers();
  }

  close(): void {
    this.#stopWatching();
    clearTimeout(this.#check);
    this.#run = null;
    this.#connection.close();
  }

  #begin(runId: string): void {
    this.#refused = false;
    this.#run = new FollowedRun(runId);
  }

  #subscribe(action: "subscribe" | "resume"): void {
    const conversationId = this.#conversationId;
    if (conversationId === null) return;
    const run = this.#run;
    const from = run === null ? {} : { runId: run.runId, after: run.order.cursor };
    this.#connection.send({ action, conversationId, ...from });
  }

  #onStatus(status: ConnectionStatus, failures: number): void {
    this.#status = status;
    this.#failures = failures;
    if (status === "open") {
      this.#refused = false;
      this.#polled = false;
      this.#subscribe("subscribe");
    }
    this.#settleTimers();
  }

  #receive(frame: Frame): void {
    switch (frame.kind) {
      case "event":
      case "unknown":
        this.#take(frame, frame.event);
        break;
      case "control":
        this.#obey(frame.control);
        break;
      case "foreign":
        this.#listener.onForeign();
        break;
      case "unreadable":
        this.#listener.onUnreadable();
    }
    this.#settleTimers();
  }

  #take(frame: Frame, event: { runId: string; conversationId: string; seq: number }): void {
    if (event.conversationId !== this.#conversationId || this.#over.has(event.runId)) return;
    if (this.#run?.runId !== event.runId) {
      // One run at a time: that another has begun means that ours has ended.
      if (this.#run !== null) void this.#settle(this.#run.runId);
      this.#begin(event.runId);
    }
    const run = this.#run;
    if (run === null) return;
    if (frame.kind === "event" && frame.event.payloadRef) void this.#fetchPayload(run, frame.event);
    else this.#deliver(run.accept({ seq: event.seq, frame }));
  }

  /** What follows waits for a payload that comes by itself, as for any event. */
  async #fetchPayload(run: FollowedRun, referring: Envelope): Promise<void> {
    const frame = await run.complete(referring, this.#api);
    if (frame !== null && this.#run === run)
      this.#deliver(run.accept({ seq: referring.seq, frame }));
    this.#settleTimers();
  }

  #deliver(due: readonly Placed[]): void {
    for (const { frame } of due) {
      if (frame.kind === "lost") this.#listener.onGap(frame.runId);
      if (frame.kind === "unknown") this.#listener.onUnknown(frame.event);
      if (frame.kind !== "event") continue;
      if (frame.event.type === "done") this.#finish(frame.event.runId);
      this.#listener.onEvent(frame.event);
    }
  }

  #finish(runId: string): void {
    this.#over.add(runId);
    if (this.#run?.runId === runId) this.#run = null;
  }

  #obey(control: Control): void {
    if (control.type === "refused") this.#refuse(control.payload.code);
    if (control.type === "heartbeat" && this.#run === null) this.#join(control);
    const run = this.#run;
    if (control.runId === null || run?.runId !== control.runId) return;
    if (control.type === "gap") this.#skip(run, control.payload.next);
    if (control.type === "heartbeat") run.hear(control.payload.lastSeq);
    if (control.type === "subscribed") this.#onSubscribed(run, control.payload);
  }

  #onSubscribed(run: FollowedRun, { lastSeq, ended }: SubscribedPayload): void {
    this.#renewed = false;
    run.promise(lastSeq);
    if (ended && !run.isBehind) void this.#settle(run.runId);
  }

  /** A socket does not outlive its token; a new one does, unless that is refused as well. */
  #refuse(code: string): void {
    if (code === "token_expired" && !this.#renewed) {
      this.#renewed = true;
      this.#connection.renew();
      return;
    }
    this.#refused = true;
  }

  /** A run lives of which nothing has come. */
  #join({ runId, conversationId }: Control): void {
    if (runId !== null && conversationId === this.#conversationId) this.follow(runId);
  }

  #skip(run: FollowedRun, next: number): void {
    const due = run.order.skipTo(next - 1);
    this.#listener.onGap(run.runId);
    this.#deliver(due);
  }

  /** Say how we are connected, and decide when to look for what has not come. */
  #settleTimers(): void {
    this.#listener.onChannel(this.#channel());
    clearTimeout(this.#check);
    const delay = this.#checkAfterMs();
    if (delay !== null) this.#check = setTimeout(() => this.#recover(), delay);
  }

  #channel(): ChannelState {
    if (this.#isLive()) return "live";
    if (this.#polled) return "polling";
    if (this.#status === "closed") return "idle";
    return this.#failures === 0 ? "connecting" : "offline";
  }

  #isLive(): boolean {
    return this.#status === "open" && !this.#refused;
  }

  #checkAfterMs(): number | null {
    const run = this.#run;
    if (run === null) return null;
    if (!this.#isLive()) {
      const hopeless = this.#refused || this.#failures >= POLL_AFTER_FAILURES;
      return hopeless ? POLL_EVERY_MS * 2 ** Math.min(this.#pollFailures, 4) : null;
    }
    return run.patienceMs;
  }

  #recover(): void {
    const run = this.#run;
    if (run === null) return;
    run.recoveries += 1;
    if (!this.#isLive()) void this.#poll(run);
    else if (run.isSilent) this.#breakSilence(run);
    // The socket first; if that brought nothing, the log itself.
    else if (run.recoveries % 2 === 1) this.#subscribe("resume");
    else void this.#poll(run);
    this.#settleTimers();
  }

  /** A question that is answered is no silence; one that is not means that the connection is broken. */
  #breakSilence(run: FollowedRun): void {
    const turn = run.recoveries % 3;
    if (turn === 1) this.#subscribe("resume");
    else if (turn === 2) this.#connection.renew();
    else void this.#poll(run);
  }

  async #poll(run: FollowedRun): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const page = await this.#api.fetchEnvelopes(run.runId, run.order.cursor);
      this.#pollFailures = 0;
      if (this.#run !== run) return;
      this.#polled = !this.#isLive();
      if (page.gap !== null) this.#skip(run, page.gap.next);
      for (const envelope of page.envelopes) this.#receive(readFrame(envelope));
      if (page.ended) await this.#settle(run.runId);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      this.#polled = false;
      this.#pollFailures += 1;
      if (error.status === 404) await this.#settle(run.runId);
    } finally {
      this.#polling = false;
      this.#settleTimers();
    }
  }

  /** Ask the run itself, in case `done` was lost; says nothing while it still runs. */
  async #settle(runId: string): Promise<void> {
    if (this.#over.has(runId)) return;
    const run = await this.#api.fetchRun(runId).catch((error: unknown) => {
      if (error instanceof ApiProblem) return error.status === 404 ? null : undefined;
      throw error;
    });
    if (run === undefined || this.#over.has(runId)) return;
    if (run !== null && run.status !== "ended") return;
    this.#finish(runId);
    this.#listener.onEnded(runId, run);
    this.#settleTimers();
  }
}
