"""What goes wrong with the Gemini API, in the product's own words."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from equerry.adapters.rounds.failures import (
    AttemptFailed,
    gone,
    not_answering,
    read_status,
    refused,
    unusable,
)
from equerry.ports.model import FailureCause

Json = dict[str, Any]

_UNUSABLE = frozenset({"PERMISSION_DENIED", "UNAUTHENTICATED"})
_PASSING: dict[str, FailureCause] = {
    "ABORTED": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
    "INTERNAL": "overloaded",
    "RESOURCE_EXHAUSTED": "throttled",
    "UNAVAILABLE": "overloaded",
}
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


def read_status_error(status: int, error: Json, headers: Mapping[str, str], now: datetime) -> AttemptFailed:
    """Translate an error status; a wrong key has the status of a wrong request, and says so apart."""
    said = f"HTTP {status} {_name(error)}"
    details = [each for each in error.get("details") or [] if isinstance(each, dict)]
    if any(each.get("reason") == "API_KEY_INVALID" for each in details):
        return unusable(said)
    wishes = {"retry-after": wish} if (wish := _find_wish(details)) else {}
    return read_status(
        status, said, {**wishes, **{name.lower(): text for name, text in headers.items()}}, now
    )


def read_error(error: Json) -> AttemptFailed:
    """Translate an error inside a stream, whose HTTP status was 200."""
    kind = _name(error)
    said = f"{kind} in mid-stream"
    if kind == "NOT_FOUND":
        return gone(said)
    if kind in _UNUSABLE:
        return unusable(said)
    if kind in _PASSING or kind == "error":
        return not_answering(said, _PASSING.get(kind, "overloaded"))
    return refused(said)


def _name(error: Json) -> str:
    """Return the error's kind; it is a word of theirs, and nothing else is repeated."""
    kind = error.get("status")
    return kind if isinstance(kind, str) and kind.replace("_", "").isalpha() else "error"


def _find_wish(details: list[Json]) -> str | None:
    delays = (_SECONDS.fullmatch(str(each.get("retryDelay"))) for each in details if "retryDelay" in each)
    found = next((delay for delay in delays if delay), None)
    return found[1] if found else None
