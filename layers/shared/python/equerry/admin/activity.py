"""The activity screen: what the organisation's assistants did, for its administrators."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from equerry.domain.activity import FATIGUE_WINDOW, ActivityFilter, ActivityPlace, ActivityRow, Fatigue
from equerry.domain.principal import Principal
from equerry.domain.redaction import redact_value
from equerry.domain.steps import ActionOutcome
from equerry.kernel.clock import Clock
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import RunId, parse_identifier
from equerry.kernel.kinds import result
from equerry.ports.activity import ActivityPort

MOST_ROWS = 200
USUAL_ROWS = 50
_OUTCOMES: Mapping[str, ActionOutcome] = {"ok": "ok", "error": "error", "refused": "refused"}
_MAX_CURSOR_CHARS = 200


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPage:
    """Rows, newest first; ask again with `cursor` while there is one."""

    rows: tuple[ActivityRow, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityScreen:
    """Shows activity."""

    activity: ActivityPort
    clock: Clock

    def show(self, principal: Principal, query: Mapping[str, str]) -> ActivityPage:
        """Return one page.

        Args:
            query: tool, excludeTool, from, to, outcome, cursor and limit, as they came.

        Raises:
            AdminRequired: the principal is no administrator.
            InvalidInput: a parameter does not fit; names it.
        """
        principal.require_admin()
        limit = _read_limit(query.get("limit"))
        cursor = query.get("cursor")
        rows = self.activity.list_activity(
            principal.scope,
            _read_filter(query),
            after=_read_cursor(cursor) if cursor else None,
            # One more than shown tells whether there is another page.
            limit=limit + 1,
        )
        shown = tuple(_scrub(row) for row in rows[:limit])
        return ActivityPage(rows=shown, cursor=_write_cursor(shown[-1].place) if len(rows) > limit else None)

    def show_fatigue(self, principal: Principal) -> Fatigue:
        """Return whether the organisation still reads what it accepts, over the last 30 days.

        Raises:
            AdminRequired: the principal is no administrator.
        """
        principal.require_admin()
        return self.activity.fetch_fatigue(principal.scope, since=self.clock.now() - FATIGUE_WINDOW)


def _scrub(row: ActivityRow) -> ActivityRow:
    """Take out again what should never have come in."""
    arguments, result_ = redact_value(row.arguments), redact_value(row.result)
    return replace(
        row,
        arguments=arguments if isinstance(arguments, dict) else {},
        result=result_ if isinstance(result_, dict) else {},
    )


def _read_filter(query: Mapping[str, str]) -> ActivityFilter:
    outcome = query.get("outcome")
    if outcome is not None and outcome not in _OUTCOMES:
        raise InvalidInput(
            f"outcome must be one of {', '.join(_OUTCOMES)}, got {outcome[:40]!r}", field="outcome"
        )
    return ActivityFilter(
        tool=query.get("tool"),
        exclude_tool=query.get("excludeTool"),
        since=_read_time("from", query.get("from")),
        before=_read_time("to", query.get("to")),
        outcome=_OUTCOMES[outcome] if outcome else None,
    )


def _read_limit(text: str | None) -> int:
    if text is None:
        return USUAL_ROWS
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST_ROWS):
        raise InvalidInput(
            f"limit must be a whole number from 1 to {MOST_ROWS}, got {text[:40]!r}", field="limit"
        )
    return int(text)


def _read_time(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput(f"{name} must be an ISO 8601 time with an offset, got {text[:40]!r}", field=name)
    return moment


def _write_cursor(place: ActivityPlace) -> str:
    text = f"{place.at.isoformat()}|{place.run_id}|{place.position}"
    return urlsafe_b64encode(text.encode()).decode()


def _read_cursor(text: str) -> ActivityPlace:
    try:
        at, run_id, position = urlsafe_b64decode(text[:_MAX_CURSOR_CHARS]).decode().split("|")
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None or not 0 <= int(position) < 10_000_000:
            raise ValueError(text)
        return ActivityPlace(
            at=moment, run_id=parse_identifier(RunId, run_id, name="cursor"), position=int(position)
        )
    except (ValueError, binascii.Error, InvalidInput):
        raise InvalidInput("cursor must be one that a page before gave", field="cursor") from None
