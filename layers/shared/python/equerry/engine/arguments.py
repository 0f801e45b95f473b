"""Whether what a model sends a tool is what the tool declares."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from equerry.engine.model import ToolSpec

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

_MOST_PROBLEMS = 5
_MOST_CHARS = 200
_KEPT = 512
_TYPES = {
    "str": "a string",
    "bool": "a boolean",
    "int": "an integer",
    "float": "a number",
    "dict": "an object",
    "list": "an array",
    "NoneType": "null",
}
_compiled: dict[int, tuple[Mapping[str, object], "Draft202012Validator"]] = {}
"""By the schema's identity; each entry keeps its schema, so that no other can take over the number."""


def find_problem(spec: ToolSpec, arguments: object) -> str | None:
    """Return what is wrong with `arguments`, for the model: where, what it is and what would do.

    Raises:
        SchemaError: the tool's own schema is no JSON Schema 2020-12, which is a bug of ours.
    """
    first = next(problems := _compile(spec.input_schema).iter_errors(arguments), None)
    if first is None:
        return None
    errors = sorted([first, *problems], key=lambda error: list(map(str, error.absolute_path)))
    lines = list(dict.fromkeys(map(_describe, errors)))
    more = f"\n- and {len(lines) - _MOST_PROBLEMS} more" if len(lines) > _MOST_PROBLEMS else ""
    listed = "\n".join(f"- {line}" for line in lines[:_MOST_PROBLEMS])
    return f"The arguments do not fit, and {spec.name} was not run:\n{listed}{more}"


def _compile(schema: Mapping[str, object]) -> "Draft202012Validator":
    if kept := _compiled.get(id(schema)):
        return kept[1]
    # Here and not above: the entry points that run no tool need not pay for it at every cold start.
    from jsonschema import Draft202012Validator
    from referencing import Registry

    Draft202012Validator.check_schema(dict(schema))
    # A registry of its own, and empty: the default one would fetch what a schema refers to from the network.
    validator = Draft202012Validator(dict(schema), registry=Registry())
    if len(_compiled) >= _KEPT:
        _compiled.clear()
    _compiled[id(schema)] = (schema, validator)
    return validator


def _describe(error: "ValidationError") -> str:
    return f"{_locate(error)} {_say(error)}"


def _locate(error: "ValidationError") -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    return _shorten("arguments" + "".join(steps))


def _say(error: "ValidationError") -> str:
    wanted: Any = error.validator_value
    instance: Any = error.instance
    match error.validator:
        case "type":
            return f"is {_name_type(instance)}, must be {_join(wanted)}"
        case "required":
            return f"needs {_join([name for name in wanted if name not in instance])}"
        case "additionalProperties" | "unevaluatedProperties":
            known = list(error.schema.get("properties", ())) if isinstance(error.schema, Mapping) else []
            unknown = [name for name in instance if name not in known]
            return f"has no {_join(unknown)}; it takes {_join(known) or 'nothing'}"
        case "enum":
            return f"is {_shorten(repr(instance))}, must be one of {_join(wanted)}"
        case "const":
            return f"is {_shorten(repr(instance))}, must be {wanted!r}"
        case keyword:
            found = f"{_name_type(instance)}{_measure(instance)}"
            return f"is {found}, which breaks {keyword} {_shorten(repr(wanted))}"


def _measure(found: object) -> str:
    if isinstance(found, str | list | dict):
        return f" of length {len(found)}"
    return f" ({_shorten(repr(found))})"


def _name_type(found: object) -> str:
    return _TYPES.get(type(found).__name__, type(found).__name__)


def _join(names: object) -> str:
    listed = names if isinstance(names, list) else [names]
    return _shorten(", ".join(map(str, listed)))


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + "…"
