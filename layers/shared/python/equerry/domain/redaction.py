"""What the audit may keep of a tool call's arguments: their shape, and never a person's words."""

from collections.abc import Mapping


def redact_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments with every text replaced by its length; numbers and switches stay."""
    return {str(key)[:64]: _redact(entry) for key, entry in arguments.items()}


def _redact(entry: object) -> object:
    if entry is None or isinstance(entry, bool | int | float):
        return entry
    if isinstance(entry, str):
        return f"text of {len(entry)} characters"
    if isinstance(entry, Mapping):
        return redact_arguments(entry)
    if isinstance(entry, list | tuple):
        return [_redact(item) for item in entry]
    return type(entry).__name__
