"""The parts of a structured completion's payload, read strictly and never repeated in an error."""

from collections.abc import Collection, Mapping, Sequence

from equerry.domain.completion import CompletionRefused


def invalid(detail: str) -> CompletionRefused:
    """The payload is malformed."""
    return CompletionRefused("invalid_request", detail)


def fields_of(
    entry: object, known: Sequence[str], *, optional: Collection[str], what: str
) -> Mapping[str, object]:
    """Return an object that has all the fields it must, and no other.

    Raises:
        CompletionRefused: it has not.
    """
    if not isinstance(entry, Mapping):
        raise invalid(f"{what} must be an object")
    # The name of an unknown field is a caller's text as well, so only its place is told.
    if entry.keys() - set(known):
        raise invalid(f"{what} has a field that is not known; known are {', '.join(known)}")
    for name in known:
        if name not in entry and name not in optional:
            raise invalid(f"{what} needs the field {name}")
    return entry


def read_string(entry: object, name: str, *, most: int | None = None) -> str:
    """Return a text that can be written as UTF-8; `most` is in characters.

    Raises:
        CompletionRefused: it is none.
    """
    if not isinstance(entry, str):
        raise invalid(f"{name} must be a string")
    if most is not None and len(entry) > most:
        raise invalid(f"{name} must have at most {most} characters, got {len(entry)}")
    try:
        entry.encode()
    except UnicodeEncodeError:
        raise invalid(f"{name} must not hold half a surrogate pair") from None
    return entry


def read_list(entry: object, name: str) -> Sequence[object]:
    """Return a list that is not empty.

    Raises:
        CompletionRefused: it is none.
    """
    if not isinstance(entry, list) or not entry:
        raise invalid(f"{name} must be a list with at least one entry, or left out")
    return entry
