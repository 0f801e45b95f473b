import { useLayoutEffect, useRef } from "preact/hooks";
import type { Ref } from "../../core";
import { renderMarkdown } from "../markdown";
import { placeCitations } from "../markers";
import { morphChildren } from "../morph";
import { settleMarkdown } from "../unfinished";

interface Props {
  text: string;
  live: boolean;
  refs: readonly Ref[] | null;
  onCite: (ref: Ref) => void;
}

/** The answer's words, drawn over those already there so that nothing flickers. */
export function AnswerText({ text, live, refs, onCite }: Props) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const fragment = renderMarkdown(live ? settleMarkdown(text) : text);
    placeCitations(fragment, refs);
    morphChildren(element.current, fragment);
  }, [text, live, refs]);

  const onClick = (event: MouseEvent): void => {
    const button = event.target instanceof Element ? event.target.closest(".cite") : null;
    const n = Number(button?.getAttribute("data-n"));
    const ref = refs?.find((candidate) => candidate.n === n);
    if (ref === undefined || !(button instanceof HTMLElement)) return;
    // Not every browser focuses a button that is clicked, and focus must come back to it.
    button.focus();
    onCite(ref);
  };
  return (
    <div
      class={live ? "prose prose-live" : "prose"}
      data-testid="answer-text"
      ref={element}
      onClick={onClick}
    />
  );
}
