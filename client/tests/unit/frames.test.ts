import fc from "fast-check";
import { expect, test } from "vitest";
import { CONTROL_TYPES, EVENT_TYPES } from "../../src/core";
import { decodeFrame, readFrame } from "../../src/core/frames";
import { control, envelope } from "../envelopes";

const header = { v: 1, runId: "r", conversationId: "c", at: "", payload: {} };

test("every declared type is recognised", () => {
  for (const type of EVENT_TYPES) {
    expect(readFrame({ ...header, type, seq: 1 }).kind).toBe("event");
  }
  for (const type of CONTROL_TYPES) {
    expect(readFrame({ ...header, type, seq: 0, runId: null }).kind).toBe("control");
  }
});

test("an undeclared type keeps its place in the order", () => {
  const frame = readFrame({ ...header, type: "hologram", seq: 7 });
  expect(frame).toMatchObject({ kind: "unknown", event: { type: "hologram", seq: 7 } });
});

test("another version is foreign whatever else it holds", () => {
  expect(readFrame({ v: 2 }).kind).toBe("foreign");
});

test("anything may arrive and nothing throws", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), fc.uint8Array()), (data) => {
      expect(["foreign", "unreadable"]).toContain(decodeFrame(data).kind);
    }),
  );
  fc.assert(
    fc.property(
      fc.record({
        v: fc.constant(1),
        type: fc.anything(),
        seq: fc.anything(),
        payload: fc.anything(),
      }),
      (value) => {
        expect(() => readFrame(value)).not.toThrow();
      },
    ),
  );
});

test("a frame survives the wire", () => {
  const event = envelope(3, "token", { delta: "⟦1⟧ “quoted”" });
  expect(decodeFrame(JSON.stringify(event))).toEqual({ kind: "event", event });
  const pong = control("pong", {}, null);
  expect(decodeFrame(JSON.stringify(pong))).toEqual({ kind: "control", control: pong });
});
