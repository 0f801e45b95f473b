import type { ConversationView, Ref, TranscriptMessage } from "../../core";
import { describeNow, StatusLine } from "./activity";
import { Answer } from "./answer";

interface Props {
  view: ConversationView;
  onCite: (ref: Ref) => void;
  onSuggest: (text: string) => void;
  onAsk: (text: string) => void;
}

/** Questions as headings, each with the answer beneath it. */
export function Transcript({ view, onCite, onSuggest, onAsk }: Props) {
  const { messages, channel, liveRunId } = view;
  const last = messages.at(-1);
  return (
    <div class="transcript">
      {messages.map((message, i) =>
        message.role === "user" ? (
          <h2 key={keyOf(message)} class={questionClass(message.text)} data-testid="asked">
            {message.text}
          </h2>
        ) : (
          <Answer
            key={keyOf(message)}
            answer={message}
            channel={channel}
            onCite={onCite}
            onSuggest={onSuggest}
            onAskAgain={askAgain(messages, i, liveRunId, onAsk)}
          />
        ),
      )}
      {last?.role === "user" && (view.sending || liveRunId !== null) && (
        <StatusLine text={view.sending ? "Sending" : describeNow(undefined, channel)} />
      )}
    </div>
  );
}

/** An answer keeps its element while its message id is still to come. */
function keyOf(message: TranscriptMessage): string {
  return message.role === "assistant" && message.runId !== null
    ? `answer ${message.runId}`
    : message.messageId;
}

const LONG_QUESTION = 140;

function questionClass(text: string): string {
  return text.length > LONG_QUESTION || text.includes("\n") ? "question question-long" : "question";
}

/** Only the last answer's question can be asked again, and only while nothing else is being answered. */
function askAgain(
  messages: readonly TranscriptMessage[],
  at: number,
  liveRunId: string | null,
  onAsk: (text: string) => void,
): (() => void) | undefined {
  const question = messages[at - 1];
  if (liveRunId !== null || at !== messages.length - 1 || question?.role !== "user")
    return undefined;
  return () => onAsk(question.text);
}
