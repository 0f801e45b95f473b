import { expect, test } from "vitest";
import { ApiProblem } from "../../src/core";
import { describeProblem } from "../../src/chat/sentences";

test.each([
  ["assistant_disabled", 503, /switched off.*can still be read/],
  ["assistant_not_enabled", 403, /not enabled for your organisation/],
  ["billing_required", 403, /plan/],
  ["surface_not_allowed", 403, /not available to you here/],
])("a refusal that trying again does not mend says so: %s", (code, status, says) => {
  const sentence = describeProblem(new ApiProblem({ code, status }));

  expect(sentence).toMatch(says);
  expect(sentence).not.toMatch(/in a moment/);
});

test("trouble that passes asks for another try", () => {
  const problem = new ApiProblem({ code: "service_unavailable", status: 503 });

  expect(describeProblem(problem)).toMatch(/Try again in a moment/);
});
