/** The fake service's WebSocket: tickets, subscriptions, replay, and the faults that runs ask for. */

import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import { WebSocketServer, type WebSocket } from "ws";
import type { ControlPayloads, Envelope } from "../src/core";
import type { ClientFrame } from "../src/core/connection";
import type { FakeRun } from "./fake-run.ts";

const TICKET_LIFE_MS = 30_000;
const FRAMES_UNTIL_DROP = 25;

interface Subscription {
  readonly socket: WebSocket;
  readonly conversationId: string;
  held: Envelope[];
  sent: number;
}

export class FakeChannel {
  readonly #tickets = new Map<string, { userId: string; expires: number }>();
  readonly #server: WebSocketServer;
  #subscriptions: Subscription[] = [];
  /** Refuse all sockets, as a network without WebSockets does. */
  blocked = false;

  readonly #owns: (userId: string, conversationId: string) => boolean;
  readonly #findRun: (runId: string) => FakeRun | undefined;

  constructor(
    server: Server,
    owns: (userId: string, conversationId: string) => boolean,
    findRun: (runId: string) => FakeRun | undefined,
  ) {
    this.#owns = owns;
    this.#findRun = findRun;
    this.#server = new WebSocketServer({ server, path: "/live" });
    this.#server.on("connection", (socket, request) => {
      const ticket = new URL(request.url ?? "", "http://fake").searchParams.get("ticket") ?? "";
      const found = this.#tickets.get(ticket);
      this.#tickets.delete(ticket);
      if (this.blocked || found === undefined || found.expires < Date.now()) {
        socket.terminate();
        return;
      }
      socket.on("close", () => this.#forget(socket));
      socket.on("message", (data: Buffer) => {
        this.#answer(socket, found.userId, JSON.parse(data.toString()) as ClientFrame);
      });
    });
  }

  issueTicket(userId: string): string {
    const ticket = randomUUID();
    this.#tickets.set(ticket, { userId, expires: Date.now() + TICKET_LIFE_MS });
    return ticket;
  }

  publish(run: FakeRun, event: Envelope): void {
    for (const subscription of this.#subscriptions) {
      if (subscription.conversationId === run.conversationId) this.#send(subscription, run, event);
    }
  }

  /** Cut every socket, as a lost network does. */
  dropAll(): void {
    for (const socket of this.#server.clients) socket.terminate();
  }

  close(): void {
    this.dropAll();
    this.#server.close();
  }

  #answer(socket: WebSocket, userId: string, frame: ClientFrame): void {
    if (frame.action === "ping") {
      control(socket, "pong", {}, null, null);
      return;
    }
    const { conversationId } = frame;
    this.#forget(socket, conversationId);
    if (!this.#owns(userId, conversationId)) {
      control(socket, "refused", { code: "not_found", message: "" }, null, conversationId);
    } else if (frame.action !== "unsubscribe") {
      this.#subscriptions.push({ socket, conversationId, held: [], sent: 0 });
      this.#replay(socket, conversationId, frame.runId, frame.after ?? 0);
    }
  }

  #replay(
    socket: WebSocket,
    conversationId: string,
    runId: string | undefined,
    after: number,
  ): void {
    const run = runId === undefined ? undefined : this.#findRun(runId);
    if (run === undefined) {
      control(socket, "subscribed", { lastSeq: 0, ended: false }, null, conversationId);
      return;
    }
    const progress = { lastSeq: run.log.length, ended: run.ended };
    control(socket, "subscribed", progress, run.runId, conversationId);
    for (const event of run.log.slice(after)) socket.send(JSON.stringify(event));
  }

  #send(subscription: Subscription, { faults, ended }: FakeRun, event: Envelope): void {
    const { socket } = subscription;
    subscription.sent += 1;
    if (faults.drop && subscription.sent % FRAMES_UNTIL_DROP === 0) {
      socket.terminate();
      return;
    }
    if (faults.lose && event.type === "token" && event.seq % 7 === 0) return;
    if (!faults.shuffle || ended) {
      socket.send(JSON.stringify(event));
      return;
    }
    subscription.held.push(event);
    if (subscription.held.length < 5) return;
    const held = subscription.held.reverse();
    for (const late of [...held, held[2]]) socket.send(JSON.stringify(late));
    subscription.held = [];
  }

  #forget(socket: WebSocket, conversationId?: string): void {
    this.#subscriptions = this.#subscriptions.filter(
      (known) =>
        known.socket !== socket ||
        (conversationId !== undefined && known.conversationId !== conversationId),
    );
  }
}

function control<T extends keyof ControlPayloads>(
  socket: WebSocket,
  type: T,
  payload: ControlPayloads[T],
  runId: string | null,
  conversationId: string | null,
): void {
  const at = new Date().toISOString();
  socket.send(JSON.stringify({ v: 1, type, runId, conversationId, seq: 0, at, payload }));
}
