"""How one attempt at a round fails, in the product's own words.

A provider's and an SDK's messages can repeat the prompt or an address with a signature in it, so ours name
only the status, the error's type and the provider's request id, and originals are suppressed, not chained.
"""

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import inf

from equerry.kernel.errors import EquerryError
from equerry.ports.model import FailureCause, ModelGone, ModelRejected, ModelUnavailable, ModelUnusable

_PASSING_STATUS = frozenset({408, 409, 425, 429})
_NEVER_PASSING_STATUS = frozenset({501, 505})
_UNUSABLE_STATUS = frozenset({401, 402, 403})
_GONE_STATUS = frozenset({404, 410})
_CAUSE_OF: dict[int, FailureCause] = {408: "timeout", 504: "timeout", 429: "throttled"}


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
    return AttemptFailed(ModelUnavailable(f"the model's stream {what}", cause="broken"))


def lost_connection(kind: str) -> AttemptFailed:
    """The network failed; `kind` is the name of the library's error, never its message."""
    cause: FailureCause = "timeout" if "timeout" in kind.lower() else "connection"
    return AttemptFailed(
        ModelUnavailable(f"the connection to the model's provider failed ({kind})", cause=cause)
    )


def refused(said: str) -> AttemptFailed:
    """The provider calls the request itself wrong."""
    return AttemptFailed(ModelRejected(f"the model's provider refused: {said}"), retryable=False)


def not_answering(
    said: str, cause: FailureCause, *, retry_after_s: float | None = None, retryable: bool = True
) -> AttemptFailed:
    """The provider says that it cannot now."""
    outcome = ModelUnavailable(
        f"the model's provider is not answering: {said}", retry_after_s=round(retry_after_s or 5), cause=cause
    )
    return AttemptFailed(outcome, retryable=retryable, retry_after_s=retry_after_s)


def unusable(said: str) -> AttemptFailed:
    """The provider does not let this account use this model."""
    return AttemptFailed(ModelUnusable(f"the model's provider refused: {said}"), retryable=False)


def gone(said: str) -> AttemptFailed:
    """The provider has no such model; it may have had it."""
    return AttemptFailed(ModelGone(f"the model's provider does not have it: {said}"), retryable=False)


def read_status(status: int, said: str, headers: Mapping[str, str], now: datetime) -> AttemptFailed:
    """Translate an HTTP status; 408, 409, 425, 429 and most of 5xx may pass, the rest do not.

    Args:
        said: the error's type and the request's id, nothing that the provider wrote freely.
        headers: with names in lower case, or a mapping that does not care.
    """
    if status in _UNUSABLE_STATUS:
        return unusable(said)
    if status in _GONE_STATUS:
        return gone(said)
    if status not in _PASSING_STATUS and (status < 500 or status in _NEVER_PASSING_STATUS):
        return refused(said)
    return not_answering(
        said,
        _CAUSE_OF.get(status, "overloaded"),
        retry_after_s=read_retry_after(headers, now),
        retryable=headers.get("x-should-retry") != "false",
    )


def read_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds, from any of the three forms; None for none, nonsense or the past.

    A date is measured from the answer's own, because their clock need not be ours.
    """
    wish = headers.get("retry-after", "")
    try:
        if milliseconds := headers.get("retry-after-ms"):
            seconds = float(milliseconds) / 1000
        elif wish[:1].isdigit():
            seconds = float(wish)
        else:
            seconds = (parsedate_to_datetime(wish) - _read_date(headers, now)).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if 0 < seconds < inf else None


def _read_date(headers: Mapping[str, str], now: datetime) -> datetime:
    try:
        return parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError, TypeError):
        return now
