import { useEffect, useState } from "preact/hooks";
import { ApiProblem, type AssistantApi, type Corpus } from "../../core";
import { describeProblem } from "../sentences";
import { Icon, Mark } from "./icon";
import { Notice } from "./notice";

const STARTERS = [
  "How do I get started?",
  "How are errors handled?",
  "Which versions are supported?",
];
const LOOK_AGAIN_MS = 4_000;

interface Props {
  api: AssistantApi;
  onSuggest: (text: string) => void;
}

/** Before the first question: what there is to ask about. */
export function Empty({ api, onSuggest }: Props) {
  const corpora = useCorpora(api);
  return (
    <div class="empty">
      <Mark />
      <h1>Ask about your documents</h1>
      <p class="lede">
        Every answer is drawn from what you may read, and each claim opens at its source.
      </p>
      {corpora instanceof ApiProblem && <Notice>{describeProblem(corpora)}</Notice>}
      {Array.isArray(corpora) && <Shelf corpora={corpora} onSuggest={onSuggest} />}
    </div>
  );
}

/** Looks again while documents are still being indexed, or there are none yet. */
function useCorpora(api: AssistantApi): Corpus[] | ApiProblem | null {
  const [corpora, setCorpora] = useState<Corpus[] | ApiProblem | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let shown = true;
    const look = async (): Promise<void> => {
      const found = await api.listCorpora().catch((problem: unknown) => problem as ApiProblem);
      if (!shown) return;
      setCorpora(found);
      const settled = Array.isArray(found) && isReady(found) && found.every((c) => c.pending === 0);
      if (!settled) timer = setTimeout(() => void look(), LOOK_AGAIN_MS);
    };
    void look();
    return () => {
      shown = false;
      clearTimeout(timer);
    };
  }, [api]);
  return corpora;
}

function isReady(corpora: readonly Corpus[]): boolean {
  return corpora.some((corpus) => corpus.documents > 0);
}

function Shelf({
  corpora,
  onSuggest,
}: {
  corpora: readonly Corpus[];
  onSuggest: (text: string) => void;
}) {
  const shown = corpora.filter((corpus) => corpus.documents + corpus.pending + corpus.failed > 0);
  return (
    <>
      {shown.length > 0 && (
        <ul class="shelf" aria-label="Your documents">
          {shown.map((corpus) => (
            <CorpusCard key={corpus.corpusId} corpus={corpus} />
          ))}
        </ul>
      )}
      {isReady(corpora) && (
        <div class="suggestions">
          {STARTERS.map((text) => (
            <button key={text} type="button" class="chip" onClick={() => onSuggest(text)}>
              {text}
            </button>
          ))}
        </div>
      )}
      {shown.length === 0 && (
        <div class="how-to">
          <p>
            There are no documents yet that you may see. Index a folder of Markdown, HTML, text,
            reStructuredText or PDF:
          </p>
          <pre>
            <code>equerry index PATH</code>
          </pre>
        </div>
      )}
    </>
  );
}

function CorpusCard({ corpus }: { corpus: Corpus }) {
  const { corpusId, documents, passages, pending, failed } = corpus;
  return (
    <li>
      <Icon name="document" />
      <span class="shelf-name">{corpusId}</span>
      <span class="shelf-count">
        {count(documents, "document")}, {count(passages, "passage")}
        {pending > 0 && <em>, {pending} being indexed</em>}
        {failed > 0 && <em class="failed">, {failed} could not be read</em>}
      </span>
    </li>
  );
}

function count(n: number, noun: string): string {
  return `${n.toLocaleString("en-GB")} ${noun}${n === 1 ? "" : "s"}`;
}
