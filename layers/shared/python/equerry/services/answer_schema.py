"""The caller's JSON Schema: what it must be before a model is asked, and whether the answer fits."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from equerry.domain.completion import MOST_OUTPUT_BYTES, CompletionRefused

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_REFERENCES = ("$ref", "$dynamicRef")


def compile_schema(schema: Mapping[str, object]) -> "Draft202012Validator":
    """Return what judges answers; nothing that the schema refers to is ever fetched.

    Raises:
        CompletionRefused: no JSON Schema 2020-12, or a reference that leads nowhere inside it.
    """
    # Here and not above: whoever is streamed to must not wait for them.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    plain = dict(schema)
    try:
        Draft202012Validator.check_schema(plain, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        raise _refuse(f"is no JSON Schema 2020-12: {error.validator} at {error.json_path}") from None
    except RecursionError:
        raise _refuse("is too deep") from None
    resolver = Registry().with_resource("", DRAFT202012.create_resource(plain)).resolver()
    try:
        for reference in _list_references(plain):
            resolver.lookup(reference)
    except (Unresolvable, ValueError):
        raise _refuse("refers to what is not in it") from None
    return Draft202012Validator(plain, registry=Registry())


def check_answer(validator: "Draft202012Validator", answer: object) -> None:
    """Return if an answer may be handed to the caller; a reason names the schema's parts, not the answer's.

    Raises:
        CompletionRefused: it is too large, no JSON, or not of the schema.
    """
    try:
        size = len(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode())
        misfit = next(validator.iter_errors(answer), None)
    except (ValueError, TypeError, RecursionError):
        raise CompletionRefused("completion_failed", "the model's answer cannot be judged as JSON") from None
    if size > MOST_OUTPUT_BYTES:
        raise CompletionRefused(
            "completion_failed", f"the model's answer has {size} bytes and may have {MOST_OUTPUT_BYTES}"
        )
    if misfit is not None:
        where = "/".join(map(str, misfit.absolute_schema_path))
        raise CompletionRefused("completion_failed", f"the model's answer does not fit jsonSchema at {where}")


def _list_references(part: object) -> Iterator[str]:
    if isinstance(part, Mapping):
        for name, inner in part.items():
            if name in _REFERENCES and isinstance(inner, str):
                yield inner
            elif name not in ("const", "enum", "default", "examples"):
                yield from _list_references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _list_references(inner)


def _refuse(what: str) -> CompletionRefused:
    return CompletionRefused("invalid_request", f"jsonSchema {what}")
