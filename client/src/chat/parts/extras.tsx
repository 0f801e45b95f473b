import type { AssistantMessage } from "../../core";
import { Icon } from "./icon";

interface Props {
  answer: AssistantMessage;
  onSuggest: (text: string) => void;
}

/** What an answer brought besides words. */
export function Extras({ answer: { artifacts, proposals, suggestions, page }, onSuggest }: Props) {
  const made = [
    ...artifacts.map(({ artifactId, title }) => ({ id: artifactId, kind: "Made", title })),
    ...proposals.map(({ draftId, title }) => ({ id: draftId, kind: "Proposed", title })),
  ];
  return (
    <>
      {page !== null && (
        <a class="page-link" href={page.path} data-testid="page-link">
          Go to {page.label}
        </a>
      )}
      {made.length > 0 && (
        <ul class="made">
          {made.map(({ id, kind, title }) => (
            <li key={id}>
              <Icon name="document" />
              <span class="made-kind">{kind}</span> {title}
            </li>
          ))}
        </ul>
      )}
      {suggestions.length > 0 && (
        <div class="suggestions">
          {suggestions.map(({ suggestionId, text }) => (
            <button key={suggestionId} type="button" class="chip" onClick={() => onSuggest(text)}>
              {text}
            </button>
          ))}
        </div>
      )}
    </>
  );
}
