/** A conversation over a scripted service, under fake time. */

import { vi } from "vitest";
import type { AssistantMessage, ConversationStore } from "../src/core";
import { ScriptedService } from "./scripted-service";

export const wait = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
export const settle = (): Promise<unknown> => wait(1);

export class ChatFixture {
  readonly service = new ScriptedService();
  readonly chat: ConversationStore = this.service
    .client()
    .conversation({ profile: "docs", titleFor: (question) => question.slice(0, 5) });

  /** The last answer shown. */
  get answer(): AssistantMessage {
    const found = this.chat.view.messages.filter((m) => m.role === "assistant").at(-1);
    if (found === undefined) throw new Error("there is no answer");
    return found;
  }

  /** Ask in a new conversation, with the socket open. */
  async ask(): Promise<void> {
    const sent = this.chat.send("Hello there?");
    await settle();
    this.service.socket.open();
    await sent;
  }
}
