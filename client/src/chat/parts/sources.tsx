import type { Ref } from "../../core";
import { Icon } from "./icon";

/** Where a passage stands: its document, then the headings above it. */
export function Whereabouts({ title, headingPath }: Pick<Ref, "title" | "headingPath">) {
  const headings = headingPath.filter((heading, i) => i > 0 || heading !== title);
  return (
    <span class="whereabouts">
      <strong>{title}</strong>
      {headings.map((heading) => (
        <span key={heading}>
          <i aria-hidden="true"> › </i>
          {heading}
        </span>
      ))}
    </span>
  );
}

interface Props {
  refs: readonly Ref[];
  onCite: (ref: Ref) => void;
}

export function Sources({ refs, onCite }: Props) {
  if (refs.length === 0) return null;
  return (
    <section class="sources" aria-label="Sources">
      <h3>Sources</h3>
      <ol>
        {refs.map((ref) => (
          <li key={ref.n}>
            <button
              type="button"
              data-testid="source"
              title={ref.sourcePath}
              onClick={() => onCite(ref)}
            >
              <span class="source-n">{ref.n}</span>
              <Whereabouts {...ref} />
              <Icon name="chevron" />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
