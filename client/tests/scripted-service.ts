/** A service in memory: the HTTP routes that the core calls, and sockets a test can push through. */

import { createClient, type Client } from "../src/core";
import type { Socket } from "../src/core/connection";
import type { Envelope } from "../src/core/envelopes";
import type { Run, StoredMessage } from "../src/core/resources";
import { CONVERSATION, RUN } from "./envelopes";

export class ScriptedSocket implements Socket {
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  onerror: Socket["onerror"] = null;
  readonly sent: Record<string, unknown>[] = [];
  closed = false;

  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  send(data: string): void {
    this.sent.push(JSON.parse(data) as Record<string, unknown>);
  }

  close(): void {
    this.closed = true;
  }

  open(): void {
    this.onopen?.call(this as unknown as WebSocket, new Event("open"));
  }

  push(...frames: unknown[]): void {
    for (const frame of frames) this.pushText(JSON.stringify(frame));
  }

  pushText(data: string): void {
    this.onmessage?.call(this as unknown as WebSocket, new MessageEvent("message", { data }));
  }

  drop(): void {
    this.onclose?.call(this as unknown as WebSocket, new Event("close") as CloseEvent);
  }
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly authorization: string | null;
}

type Answer = { status?: number; body: unknown; headers?: Record<string, string> } | null;

export class ScriptedService {
  readonly sockets: ScriptedSocket[] = [];
  readonly calls: Call[] = [];
  readonly tokensAsked: boolean[] = [];
  messages: StoredMessage[] = [];
  activeRunId: string | null = null;
  log: Envelope[] = [];
  run: Partial<Run> = { status: "running" };
  wake: () => void = () => undefined;
  /** Answers a call before the routes do; null lets it through. */
  before: (call: Call) => Answer | Promise<never> = () => null;

  client(): Client {
    return createClient({
      apiUrl: "http://service.test/api/",
      token: ({ fresh }) => {
        this.tokensAsked.push(fresh);
        return Promise.resolve(fresh ? "fresh" : "kept");
      },
      fetch: async (input, init) => this.#answer(new Request(input, init)),
      createSocket: (url) => {
        const socket = new ScriptedSocket(url);
        this.sockets.push(socket);
        return socket;
      },
      watchWaking: (wake) => {
        this.wake = wake;
        return () => undefined;
      },
    });
  }

  get socket(): ScriptedSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error("no socket was opened");
    return socket;
  }

  called(method: string, path: RegExp): Call[] {
    return this.calls.filter((call) => call.method === method && path.test(call.path));
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const text = await request.text();
    const call = {
      method: request.method,
      path: url.pathname.replace("/api", "") + url.search,
      body: text === "" ? null : (JSON.parse(text) as unknown),
      authorization: request.headers.get("authorization"),
    };
    this.calls.push(call);
    const answer = (await this.before(call)) ?? this.#route(call);
    return Response.json(answer.body, {
      status: answer.status ?? 200,
      headers: answer.headers ?? {},
    });
  }

  #route({ method, path }: Call): NonNullable<Answer> {
    const conversation = {
      conversationId: CONVERSATION,
      title: "Title",
      profile: "docs",
      createdAt: "2026-01-01T00:00:00Z",
    };
    if (path === "/tickets") {
      return { status: 201, body: { ticket: "t", webSocketUrl: "ws://service.test/live" } };
    }
    if (method === "POST" && path === "/conversations") return { status: 201, body: conversation };
    if (path.endsWith("/interactions")) return { status: 202, body: {} };
    if (path.endsWith("/cancel")) return { status: 202, body: { runId: RUN, status: "running" } };
    if (path.endsWith("/messages")) {
      const messageIds = { user: `question-of-${RUN}`, assistant: `answer-of-${RUN}` };
      const body = { runId: RUN, conversationId: CONVERSATION, messageIds, mode: "queued" };
      return { status: 202, body };
    }
    if (path.includes("/envelopes?after=")) {
      const after = Number(path.split("=")[1]);
      const envelopes = this.log.filter((event) => event.seq > after);
      return { body: { envelopes, gap: null, ended: this.run.status === "ended" } };
    }
    if (path.startsWith("/runs/")) return { body: { runId: RUN, lastSeq: 0, ...this.run } };
    const { messages, activeRunId } = this;
    return { body: { ...conversation, activeRunId, messages } };
  }
}
