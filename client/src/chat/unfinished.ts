/**
 * Makes the Markdown of an answer that is still being written fit to be drawn.
 *
 * The end of a stream is ambiguous: `**bo` may become bold, `-` a list or a heading's underline.
 * Whatever the next words could still turn into something else is closed or held back, so that
 * what has been shown only ever grows.
 */

const FENCE = /^ {0,3}(```+|~~~+)/;
/** A line of which only the marker has come. */
const BARE_MARKER = /^\s*(?:[-=*_+#>|~`: ]+|\d{1,9}[.)]?)\s*$/;

export function settleMarkdown(markdown: string): string {
  const lines = withoutCutMarker(markdown).split("\n");
  const openFence = findOpenFence(lines);
  if (openFence) return withoutBareTail(lines, FENCE).join("\n");
  const shown = withoutBareTail(lines, BARE_MARKER);
  const start = lastBlockStart(shown);
  const block = shown.slice(start);
  if (isTableInTheMaking(block)) return shown.slice(0, start).join("\n");
  return [...shown.slice(0, start), closeInline(block.join("\n"))].join("\n");
}

/** A citation marker is drawn whole or not at all; so is a surrogate pair. */
function withoutCutMarker(markdown: string): string {
  return markdown.replace(/(?:⟦\d*|[\uD800-\uDBFF])$/u, "");
}

function findOpenFence(lines: readonly string[]): boolean {
  let fence: string | null = null;
  for (const line of lines) {
    const mark = FENCE.exec(line)?.[1];
    if (mark === undefined) continue;
    if (fence === null) fence = mark;
    else if (mark.startsWith(fence) && line.trim() === mark) fence = null;
  }
  return fence !== null;
}

function withoutBareTail(lines: readonly string[], marker: RegExp): string[] {
  const last = lines.at(-1) ?? "";
  return marker.test(last) ? lines.slice(0, -1) : [...lines];
}

function lastBlockStart(lines: readonly string[]): number {
  for (let i = lines.length - 1; i >= 0; i -= 1) if (lines[i]?.trim() === "") return i + 1;
  return 0;
}

/** A table is a paragraph of bars until the line beneath its head has come whole. */
function isTableInTheMaking(block: readonly string[]): boolean {
  return block[0]?.trimStart().startsWith("|") === true && block.length < 3;
}

/** Close what is open in the last block: code, then links, then emphasis. */
function closeInline(block: string): string {
  const parts = block.split(/(`+)/);
  let code: string | null = null;
  for (const part of parts) {
    if (!part.startsWith("`")) continue;
    if (code === null) code = part;
    else if (code === part) code = null;
  }
  if (code !== null) return closeCode(block, code);
  return closeEmphasis(closeLink(block));
}

function closeCode(block: string, ticks: string): string {
  return block.endsWith(ticks) ? block.slice(0, -ticks.length) : block + ticks;
}

/** `[text](addr` shows its text; a lone `[` or `!` waits. */
function closeLink(block: string): string {
  return block.replace(/!?\[([^\][]*)(?:\](?:\([^()\s]*)?)?$/u, "$1");
}

function closeEmphasis(block: string): string {
  const held = block.replace(/(?<=^|[\s([“"'])[*_~]+$/u, "");
  const withoutCode = held.replace(/(`+)[^`]*\1/gu, "");
  const open: string[] = [];
  for (const [mark] of withoutCode.matchAll(/\*\*|__|~~|\*(?=\S)|(?<=\S)\*/gu)) {
    if (open.at(-1) === mark) open.pop();
    else open.push(mark);
  }
  if (open.length === 0) return held;
  // A closing mark may have come by half.
  const trimmed = held
    .replace(/\s+$/u, "")
    .replace(/(?<=[^*])\*$/u, (star) => (open.at(-1) === "*" ? star : ""));
  return trimmed + open.reverse().join("");
}
