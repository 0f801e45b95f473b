import type { AssistantMessage, ChannelState, Ref } from "../../core";
import { textToCopy } from "../markers";
import { describeEnding, describeRunError } from "../sentences";
import { describeNow, StatusLine, Trail } from "./activity";
import { AnswerText } from "./answer-text";
import { CopyButton } from "./copy-button";
import { Extras } from "./extras";
import { Icon } from "./icon";
import { Notice } from "./notice";
import { Sources } from "./sources";

interface Props {
  answer: AssistantMessage;
  channel: ChannelState;
  onCite: (ref: Ref) => void;
  onSuggest: (text: string) => void;
  /** Absent where asking again makes no sense. */
  onAskAgain?: (() => void) | undefined;
}

export function Answer({ answer, channel, onCite, onSuggest, onAskAgain }: Props) {
  const live = answer.phase !== "ended";
  // A run that ended without citations has none to come.
  const refs = answer.citations ?? (live ? null : []);
  return (
    <article class="answer" data-testid="answer" aria-label="Answer" aria-busy={live}>
      <Trail activity={answer.activity} live={live} />
      {answer.incomplete && live && (
        <p class="ending">Part of this answer was missed; it will be whole once it is finished.</p>
      )}
      <AnswerText text={answer.text} live={live} refs={refs} onCite={onCite} />
      {live && <StatusLine text={describeNow(answer, channel)} />}
      {!live && <Ending answer={answer} onAskAgain={onAskAgain} />}
      <Extras answer={answer} onSuggest={onSuggest} />
      {!live && <Footing text={answer.text} refs={refs ?? []} onCite={onCite} />}
    </article>
  );
}

interface FootingProps {
  text: string;
  refs: readonly Ref[];
  onCite: (ref: Ref) => void;
}

function Footing({ text, refs, onCite }: FootingProps) {
  return (
    <>
      <Sources refs={refs} onCite={onCite} />
      {text !== "" && (
        <div class="answer-actions">
          <CopyButton text={() => textToCopy(text, refs)} />
        </div>
      )}
    </>
  );
}

function Ending({ answer, onAskAgain }: Pick<Props, "answer" | "onAskAgain">) {
  const again = onAskAgain && (
    <button type="button" class="quiet" onClick={onAskAgain}>
      <Icon name="retry" />
      Ask again
    </button>
  );
  if (answer.error !== null)
    return <Notice action={again}>{describeRunError(answer.error)}</Notice>;
  if (answer.stopReason === "error") {
    return (
      <Notice action={again}>Something went wrong while answering. Ask again in a moment.</Notice>
    );
  }
  const ending = describeEnding(answer.stopReason);
  if (ending === null) return null;
  return (
    <p class="ending" data-testid="ending">
      {ending}
      {answer.stopReason === "interrupted" && again}
    </p>
  );
}
