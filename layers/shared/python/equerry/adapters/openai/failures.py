"""What goes wrong with the Responses API, in the product's own words."""

from datetime import datetime

import openai

from equerry.adapters.rounds.failures import (
    AttemptFailed,
    gone,
    not_answering,
    read_status,
    refused,
    unusable,
)
from equerry.ports.model import FailureCause

_UNUSABLE_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_GONE_CODE = "model_not_found"
_PASSING_CODES: dict[str, FailureCause] = {
    "rate_limit_exceeded": "throttled",
    "rate_limit_error": "throttled",
    "server_error": "overloaded",
    "server_is_overloaded": "overloaded",
    "slow_down": "throttled",
    "vector_store_timeout": "timeout",
}
FILTER_CODES = frozenset({"bio_policy", "misalignment_policy_violation", "image_content_policy_violation"})


def read_status_error(error: openai.APIStatusError, now: datetime) -> AttemptFailed:
    """Translate an error status; a used-up quota has the status of one that comes back, and is none."""
    said = f"HTTP {error.status_code} {error.code or error.type or 'error'}"
    said += f", request {error.request_id or 'unknown'}"
    if error.code == _GONE_CODE:
        return gone(said)
    if error.code in _UNUSABLE_CODES:
        return unusable(said)
    return read_status(error.status_code, said, error.response.headers, now)


def read_response_error(code: str) -> AttemptFailed:
    """Translate the error of a response that failed, or of an error event, whose HTTP status was 200."""
    said = f"{code or 'error'} in mid-stream"
    if code == _GONE_CODE:
        return gone(said)
    if code in _UNUSABLE_CODES:
        return unusable(said)
    if code in _PASSING_CODES or not code:
        return not_answering(said, _PASSING_CODES.get(code, "overloaded"))
    return refused(said)
