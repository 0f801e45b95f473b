"""The five kinds a data-carrying type can be, marked on the type itself.

entity   has an identity that outlives its attributes (a conversation, a run)
value    is equal to any other with the same attributes (a token count, a limit)
record   is what a store keeps or returns, already checked (a row, a log entry)
message  crosses a boundary, in or out (a request, an envelope)
result   is what an operation hands back to its caller
"""

from typing import Literal, TypeVar

Kind = Literal["entity", "value", "record", "message", "result"]
KINDS: tuple[Kind, ...] = ("entity", "value", "record", "message", "result")

_T = TypeVar("_T", bound=type)
_kind_of: dict[type, Kind] = {}


def entity(cls: _T) -> _T:
    """Mark a type that has an identity."""
    return _mark(cls, "entity")


def value(cls: _T) -> _T:
    """Mark a type that is equal by its attributes."""
    return _mark(cls, "value")


def record(cls: _T) -> _T:
    """Mark a type that a store keeps."""
    return _mark(cls, "record")


def message(cls: _T) -> _T:
    """Mark a type that crosses a boundary."""
    return _mark(cls, "message")


def result(cls: _T) -> _T:
    """Mark a type that an operation hands back."""
    return _mark(cls, "result")


def fetch_kind(cls: type) -> Kind:
    """Return the kind `cls` was marked with.

    Raises:
        LookupError: the type carries no mark of its own.
    """
    try:
        return _kind_of[cls]
    except KeyError:
        raise LookupError(f"{cls.__qualname__} is not marked as one of {', '.join(KINDS)}") from None


def _mark(cls: _T, kind: Kind) -> _T:
    _kind_of[cls] = kind
    return cls
