import { expect, test } from "vitest";
import type { UiActionPayload } from "../../src/core";
import { applyEnvelope } from "../../src/core/transcript";
import { envelope } from "../envelopes";

function pageAfter(...payloads: UiActionPayload[]) {
  const transcript = payloads.reduce(
    (before, payload, at) => applyEnvelope(before, envelope(at + 2, "ui_action", payload)),
    applyEnvelope([], envelope(1, "step", { stage: "answering", label: "Finding the page" })),
  );
  const [answer] = transcript;
  return answer?.role === "assistant" ? answer.page : undefined;
}

test("an answer that leads to a page says which", () => {
  const page = { path: "/projects/p-1/rates", label: "Rates" };
  expect(pageAfter({ action: "navigate", routeId: "rates", ...page })).toEqual(page);
  expect(pageAfter()).toBeNull();
});

test("an address outside the product, or of something else to do, is no page", () => {
  for (const path of [
    "//evil.test",
    "https://evil.test",
    "/\\evil.test",
    "javascript:alert(1)",
    7,
  ]) {
    expect(pageAfter({ action: "navigate", path, label: "Evil" })).toBeNull();
  }
  expect(pageAfter({ action: "draft_review", path: "/a", label: "A" })).toBeNull();
  expect(pageAfter({ action: "navigate", path: "/a" })).toBeNull();
});
