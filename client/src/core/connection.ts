/** One WebSocket that is kept open: tickets, reconnects and a heartbeat. */

import type { Ticket } from "./resources";

export type ConnectionStatus = "connecting" | "open" | "waiting" | "closed";

/** What the client says on the channel; the route key is `action`. */
export type ClientFrame =
  | { action: "subscribe" | "resume"; conversationId: string; runId?: string; after?: number }
  | { action: "unsubscribe"; conversationId: string }
  | { action: "ping" };

/** As much of a WebSocket as the connection uses. */
export type Socket = Pick<
  WebSocket,
  "send" | "close" | "onopen" | "onmessage" | "onclose" | "onerror"
>;

export interface ConnectionOptions {
  createTicket: () => Promise<Ticket>;
  createSocket: (url: string) => Socket;
  onFrame: (data: unknown) => void;
  /** `failures` counts the failed tries since a socket last brought anything. */
  onStatus: (status: ConnectionStatus, failures: number) => void;
  /** In [0, 1). */
  random: () => number;
}

const OPEN_TIMEOUT_MS = 10_000;
const PING_EVERY_MS = 30_000;
const PONG_WITHIN_MS = 10_000;
const PROBE_WITHIN_MS = 4_000;
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MOST_MS = 30_000;

/** Milliseconds before the next try: doubling, capped, and spread so that readers do not return in step. */
export function backoffMs(failures: number, random: number): number {
  const ceiling = Math.min(BACKOFF_MOST_MS, BACKOFF_FIRST_MS * 2 ** Math.max(0, failures - 1));
  return ceiling * (0.5 + random / 2);
}

export class Connection {
  readonly #options: ConnectionOptions;
  #status: ConnectionStatus = "closed";
  #socket: Socket | null = null;
  #failures = 0;
  /** Counts the tries, so that what an abandoned one still brings is ignored. */
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#status === "open";
  }

  open(): void {
    if (this.#status === "closed") void this.#connect();
  }

  close(): void {
    this.#abandon();
    this.#failures = 0;
    this.#enter("closed");
  }

  /** Returns false, and sends nothing, unless the socket is open. */
  send(frame: ClientFrame): boolean {
    if (this.#socket === null || !this.isOpen) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /**
   * Look again now: the network or the page has just come back (or gone).
   * An open socket is probed, because it may be only half open; a waiting one tries at once.
   */
  wake(): void {
    if (this.isOpen) this.#ping(PROBE_WITHIN_MS);
    else if (this.#status === "waiting") void this.#connect();
  }

  /** Take a new socket for one that is open and of no use, such as one whose token has ended. */
  renew(): void {
    if (this.isOpen) void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#abandon();
    const attempt = this.#attempt;
    this.#enter("connecting");
    this.#deadline = setTimeout(() => this.#fail(), OPEN_TIMEOUT_MS);
    try {
      const { ticket, webSocketUrl } = await this.#options.createTicket();
      if (attempt !== this.#attempt) return;
      const url = new URL(webSocketUrl);
      url.searchParams.set("ticket", ticket);
      this.#listen(this.#options.createSocket(url.href), attempt);
    } catch {
      // Whatever kept us from a socket, the remedy is the same: try again, later and later.
      if (attempt === this.#attempt) this.#fail();
    }
  }

  #listen(socket: Socket, attempt: number): void {
    const current = (): boolean => attempt === this.#attempt;
    this.#socket = socket;
    socket.onopen = () => {
      if (current()) this.#opened();
    };
    socket.onclose = () => {
      if (current()) this.#fail();
    };
    socket.onerror = () => {
      if (current()) this.#fail();
    };
    socket.onmessage = (message: MessageEvent) => {
      if (!current()) return;
      clearTimeout(this.#deadline);
      // Only now: some networks let a socket open and cut it at once.
      this.#failures = 0;
      this.#options.onFrame(message.data);
    };
  }

  #opened(): void {
    clearTimeout(this.#deadline);
    this.#enter("open");
    this.#schedulePing();
  }

  #schedulePing(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#ping(PONG_WITHIN_MS);
      this.#schedulePing();
    }, PING_EVERY_MS);
  }

  /** Any frame counts as the answer; silence means that the socket is dead, whatever it claims. */
  #ping(withinMs: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#fail(), withinMs);
    this.send({ action: "ping" });
  }

  #fail(): void {
    this.#abandon();
    this.#failures += 1;
    this.#enter("waiting");
    const delay = backoffMs(this.#failures, this.#options.random());
    this.#timer = setTimeout(() => void this.#connect(), delay);
  }

  #abandon(): void {
    this.#attempt += 1;
    clearTimeout(this.#timer);
    clearTimeout(this.#deadline);
    this.#socket?.close();
    this.#socket = null;
  }

  #enter(status: ConnectionStatus): void {
    this.#status = status;
    this.#options.onStatus(status, this.#failures);
  }
}
