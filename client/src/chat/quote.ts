/** Finds the quoted words in a passage. */

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where the quote stands in the text, however its white space is laid; null if it does not. */
export function findQuote(text: string, quote: string): Span | null {
  const words = quote.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const found = new RegExp(pattern, "u").exec(text);
  return found === null ? null : { start: found.index, end: found.index + found[0].length };
}
