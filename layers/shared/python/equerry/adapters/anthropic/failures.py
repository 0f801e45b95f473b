"""What goes wrong with the Messages API, in the product's own words."""

from datetime import datetime

import anthropic

from equerry.adapters.rounds.failures import (
    AttemptFailed,
    gone,
    not_answering,
    read_status,
    refused,
    unusable,
)
from equerry.ports.model import FailureCause

_REFUSALS = {
    "authentication_error": unusable,
    "billing_error": unusable,
    "invalid_request_error": refused,
    "not_found_error": gone,
    "permission_error": unusable,
    "request_too_large": refused,
}
_CAUSES: dict[str, FailureCause] = {"rate_limit_error": "throttled", "timeout_error": "timeout"}


def read_status_error(error: anthropic.APIStatusError, now: datetime) -> AttemptFailed:
    """Translate an error status."""
    said = f"HTTP {error.status_code} {error.type or 'error'}, request {error.request_id or 'unknown'}"
    return read_status(error.status_code, said, error.response.headers, now)


def read_stream_error(kind: str) -> AttemptFailed:
    """Translate an error event inside a stream, whose HTTP status was 200."""
    if refuse := _REFUSALS.get(kind):
        return refuse(f"{kind} in mid-stream")
    return not_answering(f"{kind or 'error'} in mid-stream", _CAUSES.get(kind, "overloaded"))
