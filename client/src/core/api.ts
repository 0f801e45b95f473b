/** The HTTP API, typed. */

import { ApiProblem, readProblem, unreachable } from "./problems";
import type {
  Acknowledgement,
  Conversation,
  ConversationPage,
  ConversationSummary,
  Corpus,
  EnvelopePage,
  Interaction,
  Passage,
  Run,
  Ticket,
} from "./resources";

/**
 * Gives the bearer token of the person at the page.
 *
 * Called before every request, so it should remember the token; `fresh` asks for a new one,
 * because the service has just refused the last.
 */
export type TokenProvider = (ask: { fresh: boolean }) => Promise<string>;

export interface ApiOptions {
  /** Where the API stands, such as `/api/assistant` or `https://host/api/assistant`. */
  apiUrl: string;
  token: TokenProvider;
  /** Milliseconds to wait for an answer to one request. */
  timeoutMs?: number;
  fetch?: typeof fetch;
}

/** Every method rejects with {@link ApiProblem}, and with nothing else. */
export class AssistantApi {
  readonly #base: string;
  readonly #token: TokenProvider;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  constructor(options: ApiOptions) {
    this.#base = options.apiUrl.replace(/\/+$/, "");
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#fetch = options.fetch ?? fetch.bind(globalThis);
  }

  createConversation(body: { profile?: string; title?: string }): Promise<ConversationSummary> {
    return this.#call("POST", "/conversations", body);
  }

  /** The person's latest conversations, last changed first, archived ones left out. */
  async listConversations(): Promise<ConversationSummary[]> {
    return (await this.pageConversations(null)).conversations;
  }

  /** A page of them; the next one is behind its `cursor`, null on the last. */
  pageConversations(cursor: string | null): Promise<ConversationPage> {
    const query = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
    return this.#call("GET", `/conversations${query}`);
  }

  /** Take a conversation off the list for good; it can still be fetched, and takes no question. */
  async archiveConversation(conversationId: string): Promise<void> {
    await this.#call("DELETE", `/conversations/${encodeURIComponent(conversationId)}`);
  }

  fetchConversation(conversationId: string): Promise<Conversation> {
    return this.#call("GET", `/conversations/${encodeURIComponent(conversationId)}`);
  }

  /** Ask. The answer arrives on the channel, not here. Refused with `turn_in_progress` while one is live. */
  postMessage(conversationId: string, text: string): Promise<Acknowledgement> {
    const path = `/conversations/${encodeURIComponent(conversationId)}/messages`;
    return this.#call("POST", path, { text });
  }

  /** An artifact's body, such as the payload that an envelope refers to. */
  fetchArtifact(conversationId: string, artifactId: string): Promise<Record<string, unknown>> {
    const path = `/conversations/${encodeURIComponent(conversationId)}/artifacts/${encodeURIComponent(artifactId)}`;
    return this.#call("GET", path);
  }

  async recordInteraction(conversationId: string, interaction: Interaction): Promise<void> {
    const path = `/conversations/${encodeURIComponent(conversationId)}/interactions`;
    await this.#call("POST", path, interaction);
  }

  fetchRun(runId: string): Promise<Run> {
    return this.#call("GET", `/runs/${encodeURIComponent(runId)}`);
  }

  async cancelRun(runId: string): Promise<void> {
    await this.#call("POST", `/runs/${encodeURIComponent(runId)}/cancel`);
  }

  /** The logged envelopes of a run with `seq` greater than `after`, in order. */
  fetchEnvelopes(runId: string, after: number): Promise<EnvelopePage> {
    return this.#call("GET", `/runs/${encodeURIComponent(runId)}/envelopes?after=${after}`);
  }

  /** A ticket opens one WebSocket, once, within 30 seconds. */
  createTicket(): Promise<Ticket> {
    return this.#call("POST", "/tickets");
  }

  fetchPassage(passageId: string): Promise<Passage> {
    return this.#call("GET", `/passages/${encodeURIComponent(passageId)}`);
  }

  async listCorpora(): Promise<Corpus[]> {
    return (await this.#call<{ corpora: Corpus[] }>("GET", "/corpora")).corpora;
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    let response = await this.#request(method, path, body, false);
    if (response.status === 401) response = await this.#request(method, path, body, true);
    if (!response.ok) throw await readProblem(response);
    try {
      return (await response.json()) as T;
    } catch (cause) {
      // An accepted request may answer with no body at all.
      if (response.status === 202 || response.status === 204) return undefined as T;
      throw new ApiProblem({ code: "unreadable_answer", status: response.status, cause });
    }
  }

  async #request(method: string, path: string, body: unknown, fresh: boolean): Promise<Response> {
    const headers = new Headers({ accept: "application/json" });
    if (body !== undefined) headers.set("content-type", "application/json");
    try {
      headers.set("authorization", `Bearer ${await this.#token({ fresh })}`);
      return await this.#fetch(this.#base + path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
    } catch (cause) {
      throw cause instanceof ApiProblem ? cause : unreachable(cause);
    }
  }
}
