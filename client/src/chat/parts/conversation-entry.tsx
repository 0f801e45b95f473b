import { useState } from "preact/hooks";
import type { ConversationSummary } from "../../core";
import { addressOf } from "../route";
import { Icon } from "./icon";

interface Props {
  conversation: ConversationSummary;
  current: boolean;
  onOpen: () => void;
  onArchive: () => void;
}

/** A conversation in the list; putting it away takes two clicks, for there is no way back. */
export function ConversationEntry({ conversation, current, onOpen, onArchive }: Props) {
  const [asking, setAsking] = useState(false);
  const { title: given } = conversation;
  const title = given === null || given === "" ? "Untitled" : given;
  return (
    <li class="entry">
      <a
        href={addressOf(conversation.conversationId)}
        aria-current={current ? "page" : undefined}
        onClick={onOpen}
      >
        {title}
      </a>
      {asking ? (
        <span class="sure" role="group" aria-label={`Archive “${title}”?`}>
          <button type="button" class="plain" data-testid="archive-sure" onClick={onArchive}>
            Archive
          </button>
          <button type="button" class="plain" onClick={() => setAsking(false)}>
            Keep
          </button>
        </span>
      ) : (
        <button
          type="button"
          class="plain archive"
          data-testid="archive"
          aria-label={`Archive “${title}”`}
          onClick={() => setAsking(true)}
        >
          <Icon name="close" />
        </button>
      )}
    </li>
  );
}
