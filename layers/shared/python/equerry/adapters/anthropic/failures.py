"""What goes wrong with the Messages API, in the product's own words.

The provider's and the SDK's messages can repeat the prompt, so ours name only the status, the error's type
and the provider's request id, and the original is suppressed rather than chained.
"""

from datetime import datetime
from email.utils import parsedate_to_datetime

import anthropic
import httpx2

from equerry.kernel.errors import EquerryError
from equerry.ports.model import ModelRejected, ModelUnavailable

_PASSING_STATUS = frozenset({408, 409, 429})
_REJECTED_TYPES = frozenset(
    {
        "authentication_error",
        "billing_error",
        "invalid_request_error",
        "not_found_error",
        "permission_error",
        "request_too_large",
    }
)


class AttemptFailed(Exception):
    """One attempt failed; `outcome` is what the caller is told if it was the last.

    `retry_after_s` is the provider's own wish; None where it had none.
    """

    def __init__(
        self, outcome: EquerryError, *, retryable: bool = True, retry_after_s: float | None = None
    ) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome
        self.retryable = retryable
        self.retry_after_s = retry_after_s


def broke_off(what: str) -> AttemptFailed:
    """The stream cannot be used: `what` completes "the model's stream ..."."""
    return AttemptFailed(ModelUnavailable(f"the model's stream {what}"))


def read_status_error(error: anthropic.APIStatusError, now: datetime) -> AttemptFailed:
    """Translate an error status; 408, 409, 429 and 5xx may pass, the rest do not."""
    headers = error.response.headers
    said = f"HTTP {error.status_code} {error.type or 'error'}, request {error.request_id or 'unknown'}"
    if error.status_code not in _PASSING_STATUS and error.status_code < 500:
        return AttemptFailed(ModelRejected(f"the model's provider refused: {said}"), retryable=False)
    retry_after_s = _read_retry_after(headers, now)
    outcome = ModelUnavailable(
        f"the model's provider is not answering: {said}", retry_after_s=round(retry_after_s or 5)
    )
    return AttemptFailed(
        outcome, retryable=headers.get("x-should-retry") != "false", retry_after_s=retry_after_s
    )


def read_stream_error(kind: str) -> AttemptFailed:
    """Translate an error event inside a stream, whose HTTP status was 200."""
    if kind in _REJECTED_TYPES:
        return AttemptFailed(
            ModelRejected(f"the model's provider refused in mid-stream: {kind}"), retryable=False
        )
    return AttemptFailed(ModelUnavailable(f"the model's provider broke off: {kind or 'error'}"))


def read_connection_error(error: anthropic.APIConnectionError) -> AttemptFailed:
    """Translate a failure to connect or send.

    Raises:
        Exception: the SDK wraps whatever went wrong while sending; what the network did not cause is a bug.
    """
    cause = error.__cause__
    if isinstance(cause, httpx2.RequestError):
        return read_transport_error(cause)
    raise cause or error


def read_transport_error(error: httpx2.RequestError | httpx2.StreamError) -> AttemptFailed:
    """Translate a failure of the connection itself."""
    return AttemptFailed(
        ModelUnavailable(f"the connection to the model's provider failed ({type(error).__name__})")
    )


def _read_retry_after(headers: httpx2.Headers, now: datetime) -> float | None:
    """Seconds, from any of the three forms; None for none, nonsense or the past."""
    wish = headers.get("retry-after", "")
    try:
        if milliseconds := headers.get("retry-after-ms"):
            seconds = float(milliseconds) / 1000
        elif wish[:1].isdigit():
            seconds = float(wish)
        else:
            seconds = (parsedate_to_datetime(wish) - now).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if seconds > 0 else None
