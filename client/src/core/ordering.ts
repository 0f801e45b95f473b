/** Puts the events of one run in order. */

/**
 * Hands on each event of a run once, in the order of `seq`, whatever order they arrive in.
 *
 * `seq` starts at 1 and has no gaps, so anything held back means that something is missing:
 * the reader then asks the server for everything after its own {@link RunOrder.cursor | cursor}.
 */
export class RunOrder<T extends { readonly seq: number }> {
  #cursor: number;
  readonly #held = new Map<number, T>();

  /** @param after - the last `seq` the reader already has; 0 for none. */
  constructor(after = 0) {
    this.#cursor = after;
  }

  /** The last `seq` that was handed on. */
  get cursor(): number {
    return this.#cursor;
  }

  /** Whether events are held back for want of an earlier one. */
  get hasGap(): boolean {
    return this.#held.size > 0;
  }

  /** Take one event; returns those that are now due, in order. A duplicate returns none. */
  accept(event: T): T[] {
    if (event.seq > this.#cursor) this.#held.set(event.seq, event);
    return this.#release();
  }

  /** Give up on everything up to and including `seq`: the log no longer has it. */
  skipTo(seq: number): T[] {
    if (seq > this.#cursor) {
      this.#cursor = seq;
      for (const held of this.#held.keys()) if (held <= seq) this.#held.delete(held);
    }
    return this.#release();
  }

  #release(): T[] {
    const due: T[] = [];
    for (;;) {
      const next = this.#held.get(this.#cursor + 1);
      if (next === undefined) return due;
      this.#cursor += 1;
      this.#held.delete(this.#cursor);
      due.push(next);
    }
  }
}
