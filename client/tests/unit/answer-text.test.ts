// @vitest-environment jsdom
import { expect, test } from "vitest";
import { renderMarkdown } from "../../src/chat/markdown";
import { placeCitations, textToCopy, textToRead } from "../../src/chat/markers";
import { morphChildren } from "../../src/chat/morph";
import { ref } from "../envelopes";
import { req } from "../req";

function rendered(markdown: string): HTMLElement {
  const element = document.createElement("div");
  element.append(renderMarkdown(markdown));
  return element;
}

function buttonsIn(element: HTMLElement): (string | null)[][] {
  return [...element.querySelectorAll("button")].map((button) => [
    button.textContent,
    button.getAttribute("aria-disabled"),
  ]);
}

test("HTML in an answer is shown as text and never becomes part of the page", () => {
  const element = rendered(
    `<img src=x onerror=alert(1)> <script>alert(1)</script>\n\n<button class="cite" data-n="1">1</button>`,
  );
  expect(element.querySelector("img, script, button")).toBeNull();
  expect(element.textContent).toContain("<img src=x onerror=alert(1)>");
});

test("a link may lead to the web or to a page of the product, and nowhere else", () => {
  const links = rendered(
    "[a](https://a.test) [b](javascript:alert(1)) [c](data:text/html,x) [d](/rates) [e](//e.test)",
  );
  expect([...links.querySelectorAll("a")].map((a) => a.getAttribute("href"))).toEqual([
    "https://a.test",
    null,
    null,
    "/rates",
    null,
  ]);
  expect(links.querySelector("a")?.rel).toBe("noopener noreferrer");
});

test("an image is not fetched, its words are shown", () => {
  const element = rendered("![the plan](https://spy.test/who)");
  expect(element.querySelector("img")).toBeNull();
  expect(element.textContent).toContain("the plan");
});

test("a marker is an inert button until the sources come, then opens its own, or goes", () => {
  const text = "One.⟦1⟧ Two.⟦2⟧ `⟦1⟧`";
  const before = rendered(text);
  placeCitations(before, null);
  expect(buttonsIn(before)).toEqual([
    ["1", "true"],
    ["2", "true"],
  ]);

  const after = rendered(text);
  placeCitations(after, [ref(1)]);

  expect(buttonsIn(after)).toEqual([["1", null]]);
  expect(after.textContent).not.toMatch(/Two\..*⟦2⟧/);
  expect(after.querySelector("code")?.textContent).toBe("⟦1⟧");
});

test("a Markdown link is never taken for a citation", () => {
  req("F-CITE-10");
  const element = rendered("[1](https://a.test) and [2]");
  placeCitations(element, [ref(1), ref(2)]);
  expect(buttonsIn(element)).toEqual([]);
});

test("growing text keeps the nodes that are already there", () => {
  const element = rendered("One\n\nTwo ⟦1⟧");
  placeCitations(element, [ref(1)]);
  const [paragraph, button] = [element.firstChild, element.querySelector("button")];
  const next = renderMarkdown("One\n\nTwo ⟦1⟧ and more\n\n- three");
  placeCitations(next, [ref(1)]);
  const expected = next.cloneNode(true);

  morphChildren(element, next);

  expect(element.firstChild).toBe(paragraph);
  expect(element.querySelector("button")).toBe(button);
  expect([...element.childNodes].map((n) => n.textContent)).toEqual(
    [...expected.childNodes].map((n) => n.textContent),
  );
});

test("a copied answer carries its sources, and one read aloud no marks", () => {
  expect(textToCopy("So.⟦1⟧ Not.⟦7⟧", [ref(1)])).toBe(
    "So. [1] Not.\n\n[1] Title 1 › Part › Section 1 (folder/1.md)",
  );
  expect(textToRead("**So** it `is`.⟦1⟧")).toBe("So it is.");
});
