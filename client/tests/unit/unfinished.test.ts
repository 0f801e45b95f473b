// @vitest-environment jsdom
import fc from "fast-check";
import { expect, test } from "vitest";
import { placeCitations } from "../../src/chat/markers";
import { renderMarkdown } from "../../src/chat/markdown";
import { settleMarkdown } from "../../src/chat/unfinished";

function shown(markdown: string, live: boolean): string {
  const fragment = renderMarkdown(live ? settleMarkdown(markdown) : markdown);
  placeCitations(fragment, null);
  return fragment.textContent.replace(/\s+/g, " ").trim();
}

function expectOnlyGrowth(source: string): void {
  const whole = shown(source, false);
  let before = "";
  for (let length = 1; length <= source.length; length += 1) {
    const now = shown(source.slice(0, length), true);
    const prefix = source.slice(0, length);
    expect(whole.startsWith(now), `${JSON.stringify(prefix)} showed ${JSON.stringify(now)}`).toBe(
      true,
    );
    expect(now.length, `it shrank at ${JSON.stringify(prefix)}`).toBeGreaterThanOrEqual(
      before.length,
    );
    before = now;
  }
}

test("what is shown of an answer only ever grows, character by character", () => {
  expectOnlyGrowth(
    [
      "Publish the **next key**, then *sign*.⟦1⟧ See [the guide](https://docs.test/a).",
      "1. One `a` and\n2. two⟦12⟧",
      "```sh\nkeyring purge\n\n# again\n```",
      "| A | B |\n| --- | --- |\n| a | ***b*** |",
      "## So\n\n> it is, 2 * 3 times",
    ].join("\n\n"),
  );
}, 120_000);

const word = fc.stringMatching(/^[a-z]{1,3}$/);
const words = fc.array(word, { minLength: 1, maxLength: 2 }).map((all) => all.join(" "));
const span = fc.oneof(
  words,
  words.map((text) => `**${text}**`),
  words.map((text) => `*${text}*`),
  words.map((text) => `\`${text}\``),
  fc.tuple(words, word).map(([text, host]) => `[${text}](https://${host}.test/a)`),
  words.map((text) => `${text}⟦12⟧`),
);
const line = fc.array(span, { minLength: 1, maxLength: 3 }).map((all) => all.join(" "));
const block = fc.oneof(
  line,
  line.map((text) => `## ${text}`),
  fc.array(line, { minLength: 1, maxLength: 2 }).map((all) => all.map((l) => `- ${l}`).join("\n")),
  fc
    .array(line, { minLength: 1, maxLength: 3 })
    .map((all) => all.map((l, i) => `${i + 1}. ${l}`).join("\n")),
  words.map((text) => `\`\`\`sh\n${text}\n\`\`\``),
  line.map((text) => `> ${text}`),
  fc.tuple(word, word).map(([a, b]) => `| ${a} | ${b} |\n| --- | --- |\n| ${b} | ${a} |`),
);

test("what is shown only ever grows for any mixture of Markdown", () => {
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 2 }), (blocks) =>
      expectOnlyGrowth(blocks.join("\n\n")),
    ),
    { numRuns: Number(process.env.FAST_CHECK_RUNS ?? 15) },
  );
}, 120_000);

test("a citation marker is never seen by half", () => {
  expect(settleMarkdown("So it is.⟦1")).toBe("So it is.");
  expect(settleMarkdown("So it is.⟦")).toBe("So it is.");
});
