import { useEffect, useRef, useState } from "preact/hooks";
import { ApiProblem, type AssistantApi, type Passage, type Ref } from "../../core";
import { useMedia } from "../hooks";
import { findQuote } from "../quote";
import { reflow } from "../reflow";
import { describeProblem } from "../sentences";
import { Icon } from "./icon";
import { Notice } from "./notice";
import { Whereabouts } from "./sources";

interface Props {
  api: AssistantApi;
  cited: Ref;
  onClose: () => void;
}

/** The passage behind a citation: beside the answer where there is room, over it where there is not. */
export function PassagePanel({ api, cited, onClose }: Props) {
  const beside = useMedia("(min-width: 1080px)");
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  useEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    if (beside) element.show();
    else element.showModal();
    return () => element.close();
  }, [beside]);
  useEffect(() => heading.current?.focus(), [cited, beside]);
  useEffect(() => {
    const closeOnEscape = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !event.isComposing) onClose();
    };
    document.addEventListener("keydown", closeOnEscape);
    return () => document.removeEventListener("keydown", closeOnEscape);
  }, [onClose]);

  return (
    <dialog
      ref={dialog}
      class="passage"
      data-testid="passage"
      aria-labelledby="passage-heading"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class="passage-sheet">
        <header>
          <span class="source-n">{cited.n}</span>
          <h2 id="passage-heading" tabIndex={-1} ref={heading}>
            <Whereabouts {...cited} />
          </h2>
          <button
            type="button"
            class="plain"
            aria-label="Close the passage"
            title="Close"
            onClick={onClose}
          >
            <Icon name="close" />
          </button>
        </header>
        <PassageBody key={cited.passageId} api={api} cited={cited} />
        <footer>
          <Icon name="document" />
          <span>{cited.sourcePath}</span>
        </footer>
      </div>
    </dialog>
  );
}

function PassageBody({ api, cited }: Omit<Props, "onClose">) {
  const [found, setFound] = useState<Passage | ApiProblem | null>(null);
  useEffect(() => {
    let shown = true;
    const settle = (result: Passage | ApiProblem): void => {
      if (shown) setFound(result);
    };
    api.fetchPassage(cited.passageId).then(settle, settle);
    return () => {
      shown = false;
    };
  }, [api, cited.passageId]);

  if (found === null) return <p class="passage-wait">Fetching the passage…</p>;
  if (!(found instanceof ApiProblem))
    return <PassageText text={reflow(found.text)} quote={cited.quote} />;
  return <Notice>{found.status === 404 ? GONE : describeProblem(found)}</Notice>;
}

const GONE =
  "This passage is no longer available to you. Its document may have been removed, or you may no longer see it.";

function PassageText({ text, quote }: { text: string; quote: string }) {
  const mark = useRef<HTMLElement>(null);
  useEffect(() => mark.current?.scrollIntoView({ block: "center" }), [text, quote]);
  const span = findQuote(text, quote);
  if (span === null) {
    return (
      <div class="passage-text">
        {quote !== "" && (
          <p class="passage-changed">The passage no longer has the quoted words: “{quote}”</p>
        )}
        {text}
      </div>
    );
  }
  return (
    <div class="passage-text" tabIndex={0} aria-label="Passage">
      {text.slice(0, span.start)}
      <mark ref={mark} data-testid="passage-quote">
        {text.slice(span.start, span.end)}
      </mark>
      {text.slice(span.end)}
    </div>
  );
}
