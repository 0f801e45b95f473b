/**
 * Makes the Markdown of an answer that is still being written fit to be drawn.
 *
 * The end of a stream is ambiguous: `**bo` may become bold, `-` a list or a heading's underline.
 * Whatever the next words could still turn into something else is closed or held back, so that
 * what has been shown only ever grows.
 */

const FENCE = /^ {0,3}(```+|~~~+)/;
/** A fence that may be closing, of which only a part has come. */
const HALF_FENCE = /^ {0,3}(?:`+|~+)\s*$/;
/** A line of which only the marker has come. */
const BARE_MARKER = /^\s*(?:[-=*_+#>|~`: ]+|\d{1,9}[.)]?)\s*$/;

export function settleMarkdown(markdown: string): string {
  const lines = withoutCutMarker(markdown).split("\n");
  const fences = findFences(lines);
  if (fences.open) return withoutBareTail(lines, HALF_FENCE).join("\n");
  const start = Math.max(lastBlockStart(lines), fences.end);
  const before = lines.slice(0, start);
  const block = withoutBareTail(lines.slice(start), BARE_MARKER);
  if (isTableInTheMaking(lines.slice(start))) return before.join("\n");
  return [...before, closeInline(block.join("\n"))].join("\n");
}

/** A citation marker is drawn whole or not at all; so is a surrogate pair. */
function withoutCutMarker(markdown: string): string {
  return markdown.replace(/(?:⟦\d*|[\uD800-\uDBFF])$/u, "");
}

/** Whether a fence is open, and the line after the last one that was closed. */
function findFences(lines: readonly string[]): { open: boolean; end: number } {
  let fence: string | null = null;
  let end = 0;
  for (const [i, line] of lines.entries()) {
    const mark = FENCE.exec(line)?.[1];
    if (mark === undefined) continue;
    if (fence === null) fence = mark;
    else if (mark.startsWith(fence) && line.trim() === mark) {
      fence = null;
      end = i + 1;
    }
  }
  return { open: fence !== null, end };
}

function withoutBareTail(lines: readonly string[], marker: RegExp): string[] {
  const last = lines.at(-1) ?? "";
  return marker.test(last) ? lines.slice(0, -1) : [...lines];
}

/** An empty last line is only one of which nothing has come. */
function lastBlockStart(lines: readonly string[]): number {
  for (let i = lines.length - 2; i >= 0; i -= 1) if (lines[i]?.trim() === "") return i + 1;
  return 0;
}

/** A table is a paragraph of bars until the line beneath its head has come whole. */
function isTableInTheMaking(block: readonly string[]): boolean {
  return block[0]?.trimStart().startsWith("|") === true && block.length < 3;
}

/** Close what is open in the last block: links, then code, then emphasis. */
function closeInline(block: string): string {
  // Marks at the very end may be the half of longer ones, and close nothing that we do not close.
  const text = closeLink(block.replace(/[\s*_~`]+$/u, ""));
  const closed = text + (findOpenCode(text) ?? "");
  return closed + findOpenEmphasis(closed).reverse().join("");
}

/** `[text](addr` shows its text; a lone `[` or `!` waits. */
function closeLink(block: string): string {
  return block.replace(/!?\[([^\][]*)(?:\](?:\([^()\s]*)?)?$/u, "$1");
}

function findOpenCode(text: string): string | null {
  let open: string | null = null;
  for (const [ticks] of text.matchAll(/`+/gu)) {
    if (open === null) open = ticks;
    else if (open === ticks) open = null;
  }
  return open;
}

/** The marks that wait for their closing, outermost first. */
function findOpenEmphasis(text: string): string[] {
  const prose = text.replace(/(`+)[^`]*\1/gu, (code) => "x".repeat(code.length));
  const open: string[] = [];
  for (const { 0: run, index } of prose.matchAll(/\*+|_+|~~/gu)) {
    const before = prose.charAt(index - 1);
    const after = prose.charAt(index + run.length);
    // Three stand for two and one: opened as such, and closed the other way about.
    const marks = run === "***" ? ["**", "*"] : [run];
    if (/\S/u.test(before) && open.slice(-marks.length).join() === marks.join()) {
      open.splice(-marks.length);
    } else if (/\S/u.test(after) && !/\w/u.test(before)) open.push(...marks);
  }
  return open;
}
