import { useRef } from "preact/hooks";
import type { ConversationView } from "../../core";
import { textToRead } from "../markers";
import { describeEnding, describeRunError } from "../sentences";
import { describeNow } from "./activity";

/** Says aloud what happens, and the answer once it is whole rather than each word of it. */
export function Announcer({ view }: { view: ConversationView }) {
  const watched = useRef<string | null>(null);
  watched.current = view.liveRunId ?? watched.current;
  return (
    <div class="unseen" aria-live="polite" data-testid="announcer">
      {announcement(view, watched.current)}
    </div>
  );
}

function announcement(view: ConversationView, watchedRunId: string | null): string {
  const { messages, channel, liveRunId, sending } = view;
  const last = messages.at(-1);
  const answer = last?.role === "assistant" ? last : undefined;
  if (sending) return "Sending";
  if (liveRunId !== null) return describeNow(answer, channel);
  // History that was only opened is not news.
  if (answer?.runId !== watchedRunId) return "";
  const ending =
    answer.error === null ? describeEnding(answer.stopReason) : describeRunError(answer.error);
  return [textToRead(answer.text), ending].filter(Boolean).join(" ");
}
