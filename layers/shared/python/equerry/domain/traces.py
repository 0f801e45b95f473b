"""A trace that a request belongs to, as W3C Trace Context writes it."""

import re
from dataclasses import dataclass

from equerry.kernel.kinds import value

_HEADER = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
)
_FIRST_VERSION, _NO_VERSION = "00", "ff"
_SAMPLED = 0x01


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One step of a trace: 32 and 16 lower-case hexadecimal digits, neither all zero."""

    trace_id: str
    span_id: str
    sampled: bool = True

    def to_header(self) -> str:
        """Return the `traceparent` that the next step receives."""
        return f"{_FIRST_VERSION}-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"


def parse_traceparent(header: str) -> Trace:
    """Read a `traceparent`; of a version that is not known yet, what all versions have in common.

    Raises:
        ValueError: malformed, or one of the ids is all zero.
    """
    found = _HEADER.match(header)
    rest = header[found.end() :] if found else ""
    known = found is not None and found["version"] == _FIRST_VERSION
    if found is None or found["version"] == _NO_VERSION or (rest and (known or rest[0] != "-")):
        raise ValueError(f"traceparent must be version-trace-span-flags, got {header[:80]!r}")
    if not int(found["trace"], 16) or not int(found["span"], 16):
        raise ValueError(f"traceparent names no trace or no span: {header[:80]!r}")
    return Trace(
        trace_id=found["trace"], span_id=found["span"], sampled=bool(int(found["flags"], 16) & _SAMPLED)
    )
