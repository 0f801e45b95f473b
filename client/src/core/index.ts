/** The client core: everything a surface needs to hold a conversation with Equerry. */

export { AssistantApi, type ApiOptions, type TokenProvider } from "./api";
export { createClient, type Client, type ClientOptions } from "./client";
export { ConversationStore, type ConversationOptions } from "./conversation";
export * from "./envelopes";
export type { ChannelState } from "./feed";
export { ApiProblem } from "./problems";
export type * from "./resources";
export type {
  Activity,
  AssistantMessage,
  PageLink,
  StepActivity,
  ToolActivity,
  Transcript,
  TranscriptMessage,
  UserMessage,
} from "./transcript";
export type { ConversationView } from "./view";
