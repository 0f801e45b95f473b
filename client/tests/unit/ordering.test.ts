import fc from "fast-check";
import { expect, test } from "vitest";
import { RunOrder } from "../../src/core/ordering";
import { applyEnvelope, markIncomplete, type Transcript } from "../../src/core/transcript";
import type { Envelope } from "../../src/core/envelopes";
import { envelope, RUN, runOf } from "../envelopes";
import { req } from "../req";

const deltas = fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 30 });

function textOf(transcript: Transcript): string {
  return transcript.map((message) => message.text).join("");
}

test("the text shown is at each step the beginning of the source, however frames arrive", () => {
  req("F-CORE-02", "F-ENV-06");
  const deliveries = deltas.chain((source) => {
    const run = runOf(source);
    // Shuffled, with some frames twice and some not at all.
    return fc.tuple(
      fc.constant(source),
      fc.constant(run),
      fc.array(fc.constantFrom(...run), { maxLength: run.length * 2 }),
    );
  });
  fc.assert(
    fc.property(deliveries, ([source, run, arrivals]) => {
      const order = new RunOrder<Envelope>();
      const full = source.join("");
      let shown: Transcript = [];
      const receive = (event: Envelope): void => {
        for (const due of order.accept(event)) shown = applyEnvelope(shown, due);
        expect(full.startsWith(textOf(shown))).toBe(true);
      };
      arrivals.forEach(receive);
      // What a resume from the reader's own cursor brings.
      run.filter((event) => event.seq > order.cursor).forEach(receive);
      expect(textOf(shown)).toBe(full);
      expect(order.cursor).toBe(run.length);
      expect(order.hasGap).toBe(false);
    }),
  );
});

test("each event is handed on once, in order, over any number of reconnects from the cursor", () => {
  req("F-CORE-02");
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.infiniteStream(fc.nat(20)), (length, cuts) => {
      const log = Array.from({ length }, (_, i) => ({ seq: i + 1 }));
      const order = new RunOrder();
      const seen: number[] = [];
      for (const cut of cuts) {
        const received = log.slice(order.cursor, order.cursor + cut);
        for (const event of received) seen.push(...order.accept(event).map(({ seq }) => seq));
        if (order.cursor === length) break;
      }
      expect(seen).toEqual(log.map(({ seq }) => seq));
    }),
  );
});

test("a gap that cannot be filled is passed, and what was held back behind it follows", () => {
  const order = new RunOrder();
  order.accept({ seq: 1 });
  expect(order.accept({ seq: 5 })).toEqual([]);
  expect(order.hasGap).toBe(true);

  expect(order.skipTo(4)).toEqual([{ seq: 5 }]);

  expect(order.cursor).toBe(5);
  expect(order.hasGap).toBe(false);
});

test("text that is begun anew ends as the service has it, however frames arrive", () => {
  req("F-CORE-02", "F-ENV-06");
  // Runs of pieces; between them a restart that keeps some of what had been said.
  const parts = fc.array(fc.tuple(deltas, fc.nat(40)), { minLength: 1, maxLength: 4 });
  const deliveries = parts.chain((source) => {
    const run = restartingRun(source);
    return fc.tuple(
      fc.constant(run),
      fc.array(fc.constantFrom(...run.envelopes), { maxLength: run.envelopes.length * 2 }),
    );
  });
  fc.assert(
    fc.property(deliveries, ([{ envelopes, text }, arrivals]) => {
      const order = new RunOrder<Envelope>();
      let shown: Transcript = [];
      const receive = (event: Envelope): void => {
        for (const due of order.accept(event)) shown = applyEnvelope(shown, due);
      };
      arrivals.forEach(receive);
      envelopes.filter((event) => event.seq > order.cursor).forEach(receive);
      expect(textOf(shown)).toBe(text);
    }),
  );
});

function restartingRun(parts: readonly (readonly [string[], number])[]): {
  envelopes: Envelope[];
  text: string;
} {
  const envelopes: Envelope[] = [];
  let text = "";
  for (const [said, keeps] of parts) {
    for (const delta of said) {
      envelopes.push(envelope(envelopes.length + 1, "token", { delta }));
      text += delta;
    }
    text = text.slice(0, keeps);
    envelopes.push(envelope(envelopes.length + 1, "restart", { text }));
  }
  envelopes.push(envelope(envelopes.length + 1, "token", { delta: "The end." }));
  return { envelopes, text: `${text}The end.` };
}

test("an answer whose text is taken back waits for its first words again, and is whole after a gap", () => {
  const missed = markIncomplete(
    applyEnvelope([], envelope(1, "token", { delta: "Half an ans" })),
    RUN,
  );

  const [emptied] = applyEnvelope(missed, envelope(2, "restart", { text: "" }));
  const [kept] = applyEnvelope(missed, envelope(2, "restart", { text: "Let me look." }));

  expect(emptied).toMatchObject({ text: "", phase: "working", incomplete: false });
  expect(kept).toMatchObject({ text: "Let me look.", phase: "answering", incomplete: false });
});
