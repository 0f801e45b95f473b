import fc from "fast-check";
import { expect, test } from "vitest";
import { findQuote } from "../../src/chat/quote";
import { reflow } from "../../src/chat/reflow";

test("a quote is found however its white space is laid", () => {
  const text = "Before.\nThe quick\n   brown fox (twice). After.";
  const span = findQuote(text, "The  quick brown\tfox (twice).");
  expect(text.slice(span?.start, span?.end)).toBe("The quick\n   brown fox (twice).");
});

test("words that are not there are not found, and no quote is no place", () => {
  expect(findQuote("The quick fox", "quick brown")).toBeNull();
  expect(findQuote("The quick fox", "  ")).toBeNull();
});

test("any stretch of words of a text is found in it", () => {
  const words = fc.array(fc.stringMatching(/^[a-z.*+?()[\]\\]{1,5}$/), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(words, fc.nat(), fc.nat(), (all, a, b) => {
      const start = a % all.length;
      const quote = all.slice(start, start + 1 + (b % (all.length - start)));
      expect(findQuote(all.join("\n"), quote.join(" "))).not.toBeNull();
    }),
  );
});

test("paragraphs are joined, lists, tables and code are not, and nothing moves", () => {
  const text = "# Head\nOne\ntwo.\n\n- a\n- b\n\n| x |\n| y |\n\n    code\n    more";
  const flowed = reflow(text);
  expect(flowed).toBe("# Head\nOne two.\n\n- a\n- b\n\n| x |\n| y |\n\n    code\n    more");
  expect(flowed).toHaveLength(text.length);
});
