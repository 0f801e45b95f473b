/** What the page says when something went wrong, or ended early: what happened, and what to do. */

import type { ApiProblem, StopReason } from "../core";

const BY_CODE: Readonly<Record<string, string>> = {
  unreachable: "The service could not be reached. Check your connection, then try again.",
  signed_out: "You are no longer signed in. Sign in again, then reload this page.",
  turn_in_progress:
    "The previous answer is still being finished. Your question is kept in the box; send it again in a moment.",
  assistant_disabled:
    "The assistant is switched off at the moment. What was answered before can still be read; ask again later.",
  assistant_not_enabled:
    "The assistant is not enabled for your organisation. Ask your administrator for it.",
  billing_required: "Your plan does not cover this at the moment. Ask your administrator.",
  surface_not_allowed: "This assistant is not available to you here. Ask your administrator.",
};

const BY_STATUS: Readonly<Record<number, string>> = {
  400: "The service did not accept this question. Change it a little and send it again.",
  401: "Your sign-in has expired. Reload the page to sign in again.",
  403: "You do not have permission to do this.",
  404: "This conversation is not available to you.",
  413: "This question is too long. Shorten it and send it again.",
};

/** The problem in plain sentences, ending with what the reader can do. */
export function describeProblem(problem: ApiProblem): string {
  const known = BY_CODE[problem.code];
  if (known !== undefined) return known;
  if (problem.status === 429) return describeLimit(problem);
  if (problem.status >= 500)
    return "The service has trouble answering just now. Try again in a moment.";
  return (
    BY_STATUS[problem.status] ?? (problem.detail || "That did not work. Try again in a moment.")
  );
}

function describeLimit({ detail, retryAfterS }: ApiProblem): string {
  const what = detail || "You have reached a limit.";
  return retryAfterS === null
    ? `${what} Try again later.`
    : `${what} Try again in ${describeTime(retryAfterS)}.`;
}

export function describeTime(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.ceil(seconds))} seconds`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} minutes`;
  return `${Math.round(seconds / 3_600)} hours`;
}

const ENDINGS: Readonly<Record<StopReason, string | null>> = {
  end_turn: null,
  // Its own notice says what went wrong.
  error: null,
  cancelled: "Stopped.",
  interrupted: "The answer was interrupted before it was finished. Ask again to get a whole one.",
  max_tokens:
    "The answer reached its length limit and ends here. Ask for the rest, or for something narrower.",
  max_rounds: "The answer took more steps than are allowed and ends here. Try a narrower question.",
  max_tool_calls:
    "The answer looked things up as often as is allowed and ends here. Try a narrower question.",
  deadline: "The answer took too long and ends here. Try a narrower question.",
  refusal: "The model declined to answer this. Try asking in another way.",
};

/** Why an answer ended where it did; null if it simply is complete, or the page does not know. */
export function describeEnding(stopReason: StopReason | null): string | null {
  return stopReason === null ? null : ENDINGS[stopReason];
}

/** What an answer's own error says. */
export function describeRunError(error: { code: string; message: string }): string {
  if (error.code === "not_found")
    return "This answer is no longer available. Ask again to get a new one.";
  return error.message || "Something went wrong while answering. Ask again in a moment.";
}
