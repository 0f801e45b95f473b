"""Runs a stranger's schema: patterns in linear time, and no more steps than a budget."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry

from equerry.engine.schema_bounds import SchemaRefused
from equerry.engine.schema_dialect import is_legal
from equerry.engine.schema_walk import Json, list_schemas, write_pointer

LONGEST_PATTERN = 1_024
_LARGEST_PATTERN_BYTES = 1 << 20
_REFERENCE = 10
"""Steps of a reference: following one takes as long as so many plain keywords."""

_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u(?![dD][89a-fA-F])([\da-fA-F]{4})|.)",
    re.DOTALL,
)

_steps_left: ContextVar[list[int]] = ContextVar("steps_left")
_Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class _OutOfSteps(Exception):
    """The budget is used up."""


class Check:
    """One schema, ready to run."""

    def __init__(self, validator: Any, most_steps: int) -> None:
        self._validator = validator
        self._most_steps = most_steps

    def find_problem(self, answer: object) -> str | None:
        """See AnswerSchema."""
        _steps_left.set([self._most_steps])
        try:
            error = next(self._validator.iter_errors(answer), None)
        except _OutOfSteps:
            return "the answer takes too many steps to be checked"
        except RecursionError:
            return "the answer nests too deeply to be checked"
        return None if error is None else f"breaks {write_pointer(tuple(error.absolute_schema_path))}"

    def require_patterns(self, document: Json) -> None:
        """Refuse patterns that cannot be run in linear time, and where they would be run by others."""
        held: set[str] = set()
        for path, schema in list_schemas(document):
            if isinstance(schema, bool):
                continue
            held |= schema.keys()
            for pattern in (*_list_own(schema), *schema.get("patternProperties", ())):
                _require_pattern(pattern, write_pointer(path))
        if {"patternProperties", "unevaluatedProperties"} <= held:
            raise SchemaRefused("patternProperties and unevaluatedProperties are not supported together")


def build_check(document: Json, *, most_steps: int) -> Check:
    """Build the check of a schema without references out of itself; see `MOST_STEPS`.

    Raises:
        SchemaRefused: it is no JSON Schema 2020-12.
    """
    if not is_legal(document):
        _require_legal(document)
    # A registry of its own, and empty: the default one would fetch what a schema refers to from the network.
    return Check(_build_class()(document, registry=Registry()), most_steps)


def _require_legal(document: Json) -> None:
    try:
        # Without the check of patterns: it would compile them with another engine's grammar.
        Draft202012Validator.check_schema(document, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        raise SchemaRefused(
            f"{write_pointer(tuple(error.absolute_path))} is no JSON Schema 2020-12"
        ) from None
    except RecursionError:
        raise SchemaRefused("the schema nests too deeply") from None


def _list_own(schema: Mapping[str, Any]) -> list[str]:
    return [schema["pattern"]] if "pattern" in schema else []


def _require_pattern(pattern: str, where: str) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise SchemaRefused(f"{where}: a pattern may have {LONGEST_PATTERN} characters")
    import re2

    try:
        _compile(pattern)
    except re2.error:
        raise SchemaRefused(f"{where}: a pattern that cannot be read, or not be run in linear time") from None


@cache
def _build_class() -> Any:
    own: dict[str, _Keyword] = {
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "additionalProperties": _check_additional_properties,
        "uniqueItems": _check_unique,
    }
    keywords = {**Draft202012Validator.VALIDATORS, **own}
    make: Callable[..., Any] = extend
    return make(Draft202012Validator, {name: _count(name, check) for name, check in keywords.items()})


def _count(name: str, check: _Keyword) -> _Keyword:
    least = _REFERENCE if name == "$ref" else 1

    def counted(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        left = _steps_left.get()
        left[0] -= len(wanted) if isinstance(wanted, list) else least
        if left[0] < 0:
            raise _OutOfSteps
        yield from check(validator, wanted, instance, schema) or ()

    return counted


def _write_escape(found: re.Match[str]) -> str:
    """Return an escape as this engine writes it; JavaScript has \\uXXXX, twice for some characters."""
    first, second, single = found.groups()
    if first:
        return rf"\x{{{0x10000 + ((int(first, 16) - 0xD800) << 10) + int(second, 16) - 0xDC00:x}}}"
    return rf"\x{{{single}}}" if single else found[0]


@lru_cache(maxsize=512)
def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _LARGEST_PATTERN_BYTES
    return re2.compile(_ESCAPE.sub(_write_escape, pattern), options)


def _matches(pattern: str, text: str) -> bool:
    # Half of a surrogate pair is JSON, and no text.
    return _compile(pattern).search(text.encode("utf-8", "replace").decode()) is not None


def _check_pattern(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(wanted, instance):
        yield ValidationError("does not match the pattern")


def _check_pattern_properties(
    validator: Any, wanted: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, schema in wanted.items():
        for name, held in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(held, schema, path=name, schema_path=pattern)


def _check_additional_properties(
    validator: Any, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", ())
    for name, held in instance.items():
        if name not in declared and not any(_matches(pattern, name) for pattern in patterns):
            yield from validator.descend(held, wanted, path=name)


def _check_unique(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not wanted or not validator.is_type(instance, "array"):
        return
    if len({_freeze(item) for item in instance}) < len(instance):
        yield ValidationError("has items that are not unique")


def _freeze(item: Any) -> Any:
    """Equal where JSON Schema calls two values equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(item, dict):
        return frozenset((name, _freeze(held)) for name, held in item.items())
    if isinstance(item, list):
        return ("list", *map(_freeze, item))
    return (type(item), item) if isinstance(item, bool) else item
