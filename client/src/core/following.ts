/** One run as a reader follows it: what has come, what must, and how long to wait for it. */

import type { AssistantApi } from "./api";
import type { Envelope } from "./envelopes";
import type { Frame } from "./frames";
import { RunOrder } from "./ordering";
import { ApiProblem } from "./problems";

/** An event of which only its place is left. */
export interface Lost {
  readonly kind: "lost";
  readonly runId: string;
}

export interface Placed {
  readonly seq: number;
  readonly frame: Frame | Lost;
}

/** Frames that merely overtake each other sort themselves out within this time. */
const GAP_MS = 250;
const BEHIND_MS = 1_500;
/** A live run beats every 15 s: the reader asks after one that is late, and misses the second in vain. */
const QUIET_MS = 16_000;

export class FollowedRun {
  readonly runId: string;
  readonly order = new RunOrder<Placed>();
  /** Tries to get what is missing since the last event came. */
  recoveries = 0;
  /** The last `seq` that there is known to be. */
  #promised = 0;
  readonly #fetching = new Set<number>();

  constructor(runId: string) {
    this.runId = runId;
  }

  /** Whether there is more than has come. */
  get isBehind(): boolean {
    return this.order.cursor < this.#promised;
  }

  /** Whether nothing is known to be missing of a run that has begun. */
  get isSilent(): boolean {
    return this.order.cursor > 0 && !this.order.hasGap && !this.isBehind;
  }

  /** Milliseconds to wait for the next frame before looking for it. */
  get patienceMs(): number {
    if (this.isSilent || this.#fetching.size > 0) return QUIET_MS;
    if (this.order.hasGap) return Math.min(QUIET_MS, GAP_MS * 2 ** this.recoveries);
    if (this.isBehind) return Math.min(QUIET_MS, BEHIND_MS * 2 ** this.recoveries);
    return QUIET_MS;
  }

  /** Know that there is an event with this `seq`. */
  promise(seq: number): void {
    this.#promised = Math.max(this.#promised, seq);
  }

  /** Know that the run lives, and that there is an event with this `seq`. */
  hear(lastSeq: number): void {
    this.recoveries = 0;
    this.promise(lastSeq);
  }

  /** Take one frame; returns those that are now due, in order. */
  accept(placed: Placed): Placed[] {
    const due = this.order.accept(placed);
    if (due.length > 0) this.recoveries = 0;
    return due;
  }

  /**
   * Fetch the payload that no frame could carry.
   *
   * Returns null if it is not to be had now, or another call fetches it already.
   */
  async complete(referring: Envelope, api: AssistantApi): Promise<Frame | Lost | null> {
    const { payloadRef, ...event } = referring;
    const { seq, runId, conversationId } = event;
    if (!payloadRef || seq <= this.order.cursor || this.#fetching.has(seq)) return null;
    this.promise(seq);
    this.#fetching.add(seq);
    try {
      const payload = await api.fetchArtifact(conversationId, payloadRef.artifactId);
      return { kind: "event", event: { ...event, payload } as unknown as Envelope };
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      return error.status === 404 ? { kind: "lost", runId } : null;
    } finally {
      this.#fetching.delete(seq);
    }
  }
}
