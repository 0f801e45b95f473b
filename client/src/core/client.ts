/** The way in: one client for a page, from which conversations are opened. */

import { AssistantApi, type ApiOptions } from "./api";
import type { Socket } from "./connection";
import { ConversationStore, type ConversationOptions } from "./conversation";
import { watchBrowserWaking, type WatchWaking } from "./wakefulness";

export interface ClientOptions extends ApiOptions {
  /** How to open a socket; the browser's own unless given. */
  createSocket?: (url: string) => Socket;
  /** How to learn that the network may be back; the browser's own signs unless given. */
  watchWaking?: WatchWaking;
}

export interface Client {
  /** The HTTP API, for what is not a conversation: passages, corpora, the list. */
  readonly api: AssistantApi;
  /** A conversation to be opened or begun. Close it when its surface goes away. */
  conversation: (options?: ConversationOptions) => ConversationStore;
}

/**
 * Make a client.
 *
 * @example
 * ```ts
 * const client = createClient({ apiUrl: "/api/assistant", token: () => session.token() });
 * const chat = client.conversation({ profile: "docs" });
 * chat.subscribe((view) => draw(view));
 * await chat.send("How do I rotate a key?");
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const api = new AssistantApi(options);
  const channel = {
    createSocket: options.createSocket ?? ((url: string) => new WebSocket(url)),
    watchWaking: options.watchWaking ?? watchBrowserWaking,
    random: Math.random,
  };
  return { api, conversation: (surface) => new ConversationStore({ api, channel }, surface) };
}
