/** Turns an answer's Markdown into nodes that are safe to show. */

import DOMPurify from "dompurify";
import { Marked } from "marked";

/** Prose and tables. No images: fetching one would tell its server who reads what. */
const ALLOWED_TAGS = [
  ..."p br hr h1 h2 h3 h4 h5 h6 strong em del code pre blockquote".split(" "),
  ..."ul ol li a table thead tbody tr th td input #text".split(" "),
];
const ALLOWED_ATTR = ["href", "title", "start", "align", "type", "checked", "disabled"];

const marked = new Marked({
  gfm: true,
  renderer: {
    // The model writes Markdown; HTML in it is text like any other.
    html: ({ text }) => escapeHtml(text),
    image: ({ text }) => escapeHtml(text),
  },
});

export function renderMarkdown(markdown: string): DocumentFragment {
  const html = marked.parse(markdown, { async: false });
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    // Besides the usual: an address within the product, and none that leaves it by two slashes.
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/(?![/\\]))/i,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  for (const table of fragment.querySelectorAll("table")) {
    const scroller = document.createElement("div");
    scroller.className = "table-scroll";
    table.replaceWith(scroller);
    scroller.append(table);
  }
  return fragment;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
