import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backoffMs } from "../../src/core/connection";
import type { ConversationStore } from "../../src/core";
import { req } from "../req";
import { CONVERSATION, control } from "../envelopes";
import { ScriptedService } from "../scripted-service";

let service: ScriptedService;
let chat: ConversationStore;

beforeEach(async () => {
  vi.useFakeTimers();
  service = new ScriptedService();
  chat = service.client().conversation();
  await chat.open(CONVERSATION);
});

afterEach(() => {
  chat.close();
  vi.useRealTimers();
});

const wait = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

test("each connect takes a ticket of its own", async () => {
  service.socket.open();
  service.socket.drop();
  await wait(600);
  expect(service.called("POST", /tickets/)).toHaveLength(2);
  expect(service.sockets).toHaveLength(2);
});

test("a socket that no longer answers pings is replaced", async () => {
  req("F-CORE-02");
  const halfOpen = service.socket;
  halfOpen.open();
  await wait(30_000);
  expect(halfOpen.sent.at(-1)).toEqual({ action: "ping" });
  await wait(10_600);
  expect(halfOpen.closed).toBe(true);
  expect(service.sockets).toHaveLength(2);
});

test("a socket that answers pings is kept", async () => {
  service.socket.open();
  for (let i = 0; i < 20; i += 1) {
    await wait(30_000);
    service.socket.push(control("pong", {}, null));
  }
  expect(service.sockets).toHaveLength(1);
  expect(chat.view.channel).toBe("live");
});

test("when the page wakes, an open socket is probed at once and a dead one found in seconds", async () => {
  service.socket.open();
  service.wake();
  expect(service.socket.sent.at(-1)).toEqual({ action: "ping" });
  await wait(4_600);
  expect(service.sockets).toHaveLength(2);
});

test("when the page wakes, a waiting connection does not wait longer", async () => {
  for (let i = 0; i < 6; i += 1) {
    service.socket.drop();
    await wait(20_000);
  }
  service.socket.drop();
  const tries = service.sockets.length;
  service.wake();
  await wait(1);
  expect(service.sockets).toHaveLength(tries + 1);
});

test("a socket that does not open in time is given up for another", async () => {
  await wait(11_000);
  expect(service.sockets).toHaveLength(2);
  expect(service.sockets[0]?.closed).toBe(true);
});

test("what an abandoned socket still brings is ignored", async () => {
  const old = service.socket;
  old.open();
  old.drop();
  await wait(600);
  old.push({ v: 2 });
  expect(chat.view.outdated).toBe(false);
});

test("retries come later and later, within bounds and never in step", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (n, random) => {
        const delay = backoffMs(n, random);
        expect(delay).toBeGreaterThanOrEqual(250);
        expect(delay).toBeLessThanOrEqual(30_000);
      },
    ),
  );
  expect(backoffMs(1, 0.5)).toBeLessThan(backoffMs(3, 0.5));
  expect(backoffMs(3, 0.1)).not.toBe(backoffMs(3, 0.9));
});
