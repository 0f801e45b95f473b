import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ConversationView } from "../../core";
import { Icon } from "./icon";

interface Props {
  view: ConversationView;
  draft: string;
  onDraft: (text: string) => void;
  onSend: () => void;
  onStop: () => void;
}

/** Whether a question can be sent now: once Stop was pressed there is no need to wait. */
export function canSend({ liveRunId, stopping, sending, outdated }: ConversationView): boolean {
  return (liveRunId === null || stopping) && !sending && !outdated;
}

export function Composer({ view, draft, onDraft, onSend, onStop }: Props) {
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => fitHeight(box.current), [draft]);
  useEffect(() => {
    // On a touch screen this would bring up the keyboard over the page.
    if (matchMedia("(hover: hover)").matches) box.current?.focus();
  }, [view.conversationId]);

  const onKeyDown = (event: KeyboardEvent): void => {
    // While an input method composes, Enter chooses a word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onSend();
  };
  const ready = canSend(view);
  const live = view.liveRunId !== null;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <textarea
        ref={box}
        data-testid="question"
        aria-label="Your question"
        placeholder={view.messages.length === 0 ? "Ask a question" : "Ask another question"}
        rows={1}
        value={draft}
        disabled={view.outdated}
        onInput={(event) => onDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {live && !ready && !view.sending ? (
        <button
          type="button"
          class="round stop"
          data-testid="stop"
          aria-label="Stop"
          title="Stop"
          onClick={onStop}
        >
          <Icon name="stop" />
        </button>
      ) : (
        <button
          type="submit"
          class="round"
          data-testid="send"
          aria-label="Send"
          title="Send"
          disabled={!ready || draft.trim() === ""}
        >
          <Icon name="send" />
        </button>
      )}
    </form>
  );
}

const MOST_PX = 220;

function fitHeight(box: HTMLTextAreaElement | null): void {
  if (box === null) return;
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, MOST_PX)}px`;
  box.style.overflowY = box.scrollHeight > MOST_PX ? "auto" : "hidden";
}
