"""JSON from strangers, read strictly, whichever surface it came in by."""

import re
from collections.abc import Callable
from json import loads
from math import inf, isfinite
from typing import TypeVar

from pydantic import ValidationError

from equerry.kernel.errors import InvalidInput

MAX_DEPTH = 32
_INTEGERS = range(-(2**63), 2**63)
_MAX_INTEGER_CHARS = 20
_MAX_NAME_CHARS = 80
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_M = TypeVar("_M")


def read_json(text: str, validate: Callable[[object], _M], *, whole: str) -> _M:
    """Return what `validate`, a pydantic validator, makes of the JSON in `text`.

    Stricter than RFC 8259 where it leaves freedom: names are unique in their object, whole numbers fit
    64 bits, fractions are finite, at most 32 levels deep, and no text holds U+0000 or half a surrogate pair.

    Args:
        whole: what `text` is called in errors, `body` for one.

    Raises:
        InvalidInput: no JSON, not of that form, or not strict; names the first field that does not fit.
    """
    parsed = _parse(text, whole)
    _check(parsed, (), whole)
    try:
        return validate(parsed)
    except ValidationError as misfit:
        first = misfit.errors(include_url=False, include_input=False)[0]
        name = _join(tuple(str(part) for part in first["loc"]), whole)
        raise InvalidInput(f"{name}: {first['msg']}", field=name) from misfit


def read_text(text: str, *, name: str) -> str:
    """Return `text`, which can be stored and sent on.

    Raises:
        InvalidInput: `text` holds U+0000 or half a surrogate pair.
    """
    if _UNSTORABLE.search(text):
        shown = _show(name)
        raise InvalidInput(f"{shown}: must not hold U+0000 or half a surrogate pair", field=shown)
    return text


def _parse(text: str, whole: str) -> object:
    try:
        return loads(text, object_pairs_hook=_build_object, parse_int=_read_integer)
    except (ValueError, RecursionError) as broken:
        raise InvalidInput(f"the {whole} must be a JSON object", field=whole) from broken


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    built: dict[str, object] = {}
    for name, entry in pairs:
        if name in built:
            raise InvalidInput(f"{_show(name)}: is given twice", field=_show(name))
        built[name] = entry
    return built


def _read_integer(digits: str) -> float:
    # Infinity for what is too long: Python would refuse it here, and only the walk can name its field.
    return int(digits) if len(digits) <= _MAX_INTEGER_CHARS else inf


def _check(entry: object, path: tuple[str, ...], whole: str) -> None:
    if len(path) >= MAX_DEPTH and isinstance(entry, dict | list):
        raise InvalidInput(f"the {whole} must be at most {MAX_DEPTH} levels deep", field=whole)
    match entry:
        case str():
            read_text(entry, name=_join(path, whole))
        case int() | float():
            _check_number(entry, _join(path, whole))
        case dict():
            for name, inner in entry.items():
                read_text(name, name=_join((*path, name), whole))
                _check(inner, (*path, name), whole)
        case list():
            for place, inner in enumerate(entry):
                _check(inner, (*path, str(place)), whole)


def _check_number(number: float, name: str) -> None:
    fits = number in _INTEGERS if isinstance(number, int) else isfinite(number)
    if not fits:
        raise InvalidInput(f"{name}: must be a finite number, and within 64 bits if it is whole", field=name)


def _join(path: tuple[str, ...], whole: str) -> str:
    return _show(".".join(path)) or whole


def _show(name: str) -> str:
    """Return a stranger's name for a field, fit for an answer and a log."""
    shown = name if name.isprintable() else ascii(name)[1:-1]
    return shown if len(shown) <= _MAX_NAME_CHARS else f"{shown[: _MAX_NAME_CHARS - 1]}…"
