/** Citation markers, `⟦n⟧`, each bound to the claim it follows. */

import type { Ref } from "../core";

const MARKER = /\s*⟦(\d+)⟧/gu;

/**
 * Replace the markers in a tree by numbered buttons.
 *
 * Before the references have come (`refs` is null) the buttons are inert; afterwards a marker
 * without a reference was not borne out, and goes.
 */
export function placeCitations(root: ParentNode & Node, refs: readonly Ref[] | null): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    if (text.data.includes("⟦") && !text.parentElement?.closest("code")) {
      text.replaceWith(...splitAtMarkers(text.data, refs));
    }
  }
}

function splitAtMarkers(text: string, refs: readonly Ref[] | null): (string | Node)[] {
  const parts: (string | Node)[] = [];
  let end = 0;
  for (const match of text.matchAll(MARKER)) {
    const claim = text.slice(end, match.index);
    end = match.index + match[0].length;
    const n = Number(match[1]);
    const ref = refs?.find((candidate) => candidate.n === n);
    if (refs === null || ref !== undefined) parts.push(...tie(claim, createButton(n, ref)));
    else parts.push(claim);
  }
  parts.push(text.slice(end));
  return parts;
}

/** Keep a number on the line of the word it follows. */
function tie(claim: string, button: HTMLButtonElement): (string | Node)[] {
  const lastWord = /\S{0,24}$/u.exec(claim)?.[0] ?? "";
  const tied = document.createElement("span");
  tied.className = "tied";
  tied.append(lastWord, button);
  return [claim.slice(0, claim.length - lastWord.length), tied];
}

function createButton(n: number, ref: Ref | undefined): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "cite";
  button.textContent = String(n);
  button.setAttribute("data-testid", "citation");
  button.setAttribute("data-n", String(n));
  if (ref === undefined) {
    button.setAttribute("aria-disabled", "true");
    button.setAttribute("aria-label", `Source ${n}, being checked`);
  } else {
    button.setAttribute("aria-label", `Source ${n}: ${ref.title}`);
    button.title = [ref.title, ...ref.headingPath].join(" › ");
  }
  return button;
}

/** The answer as plain Markdown for another place: markers as [n], and the sources they stand for. */
export function textToCopy(text: string, refs: readonly Ref[] | null): string {
  const known = new Map((refs ?? []).map((ref) => [ref.n, ref]));
  const body = text.replace(MARKER, (_, n: string) => (known.has(Number(n)) ? ` [${n}]` : ""));
  const sources = [...known.values()].map(
    (ref) => `[${ref.n}] ${[ref.title, ...ref.headingPath].join(" › ")} (${ref.sourcePath})`,
  );
  return sources.length === 0 ? body : `${body}\n\n${sources.join("\n")}`;
}

/** The answer as it would be read out. */
export function textToRead(text: string): string {
  return text
    .replace(MARKER, "")
    .replace(/[*_`#>|]+/g, "")
    .trim();
}
