/** Lays out the plain text of a passage, whose lines were broken for another page's width. */

/** A line that begins something of its own: a list item, a heading, a table row, a quotation, code. */
const OWN_LINE = /^(?:\s|[-*+•] |\d{1,3}[.)] |#|\||>|```|~~~)/;

/**
 * Join the lines of each paragraph.
 *
 * Only line breaks become spaces, so every place in the text stays where it was.
 */
export function reflow(text: string): string {
  const lines = text.split("\n");
  return lines
    .map((line, i) => line + (joinsNext(line, lines[i + 1]) ? " " : "\n"))
    .join("")
    .slice(0, text.length);
}

function joinsNext(line: string, next: string | undefined): boolean {
  if (next === undefined || line.trim() === "" || next.trim() === "") return false;
  const breaks = line.startsWith("#") || line.startsWith("|") || /^\s{4}|^```|^~~~/.test(line);
  return !breaks && !OWN_LINE.test(next);
}
