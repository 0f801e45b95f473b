"""The trace of what this process is doing now: taken from the caller, or begun here."""

import secrets
from contextvars import ContextVar
from dataclasses import replace

from equerry.domain.traces import Trace, parse_traceparent
from equerry.runtime.observability import logger

_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def enter_trace(given: str | None) -> Trace:
    """Go on with the caller's trace in a span of our own; one that is absent or malformed is begun anew.

    Every log line from here carries `trace_id` and `span_id`.
    """
    trace = replace(_parse(given) or Trace(trace_id=_new_id(16), span_id=_new_id(8)), span_id=_new_id(8))
    _current.set(trace)
    logger.append_keys(trace_id=trace.trace_id, span_id=trace.span_id)
    return trace


def find_traceparent() -> str | None:
    """Return what the next process should be told; None outside any trace."""
    trace = _current.get()
    return trace.to_header() if trace else None


def find_trace_id() -> str | None:
    """Return under which id this process's log lines are found; None outside any trace."""
    trace = _current.get()
    return trace.trace_id if trace else None


def _parse(given: str | None) -> Trace | None:
    try:
        return parse_traceparent(given) if given else None
    except ValueError:
        return None


def _new_id(size: int) -> str:
    return secrets.token_hex(size)
