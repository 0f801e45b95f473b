/** What a surface draws. */

import type { ChannelState } from "./feed";
import type { ApiProblem } from "./problems";
import type { Transcript } from "./transcript";

/** All that a surface needs to draw a conversation. A new object for every change; never altered. */
export interface ConversationView {
  readonly conversationId: string | null;
  readonly title: string | null;
  readonly loading: boolean;
  /** The transcript could not be loaded; `problem` says why. */
  readonly loadFailed: boolean;
  readonly messages: Transcript;
  /** The run that is answering now. */
  readonly liveRunId: string | null;
  /** A question is on its way to the service. */
  readonly sending: boolean;
  /** Stop was asked for and the run has not ended yet. */
  readonly stopping: boolean;
  readonly channel: ChannelState;
  /** What last went wrong; cleared by the next attempt. */
  readonly problem: ApiProblem | null;
  /** The service speaks a newer contract: the page must be reloaded. */
  readonly outdated: boolean;
}

/** Nothing opened, nothing asked. */
export const EMPTY_VIEW: ConversationView = {
  conversationId: null,
  title: null,
  loading: false,
  loadFailed: false,
  messages: [],
  liveRunId: null,
  sending: false,
  stopping: false,
  channel: "idle",
  problem: null,
  outdated: false,
};
