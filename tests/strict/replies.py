"""What a strict server can be told to answer, fault or not; the same for every wire."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the wire's own, by name, with its JSON."""

    name: str
    data: Json


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are, legal or not."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing for a while; with `pings`, nothing but signs of life."""

    seconds: float
    pings: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """The socket dies."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The body ends cleanly, whatever is missing from it."""


@dataclass(frozen=True, slots=True)
class Then:
    """Something happens elsewhere at this moment, before the next item is sent."""

    act: Callable[[], None]


Item = Event | Raw | Stall | Drop | Finish | Then


@dataclass(frozen=True, slots=True)
class Stream:
    """HTTP 200 and these items; ends cleanly after the last."""

    items: tuple[Item, ...]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error status; what `kind` names is the wire's own."""

    status: int
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "something about the prompt"
    body: bytes | None = None
    """In place of the wire's own form."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Not a byte for a while, and then the socket dies."""

    seconds: float


Reply = Stream | Failure | Drop | Hang
"""`Drop` in place of a reply closes the socket before any byte."""
Choose = Callable[[Json], Reply]
"""Finds the reply to a request that was legal."""


class Illegal(Exception):
    """The request breaks a rule; the message is what the API would say."""


class Denied(Exception):
    """The caller, the path or the model is refused before the request is looked at."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


def require(holds: object, message: str) -> None:
    """Raise Illegal unless it holds."""
    if not holds:
        raise Illegal(message)
