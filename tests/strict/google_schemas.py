"""Which JSON Schemas the Gemini API takes, and with which words it refuses the others."""

import json
from typing import Any

from tests.strict.replies import Json, require

MOST_BYTES = 64 * 1024
KEYWORDS = frozenset(
    {
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "oneOf",
        "properties",
        "additionalProperties",
        "required",
        "propertyOrdering",
    }
)
_FORMATS = {"date", "date-time", "time"}
_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}


def check_schema(schema: Any, where: str) -> None:
    """Raise Illegal for the first rule of the provider's subset that the document breaks."""
    require(
        len(json.dumps(schema, ensure_ascii=False).encode()) <= MOST_BYTES,
        f"{where}: the schema is too large",
    )
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    for name, part in definitions.items():
        _check(part, f"{where}.$defs.{name}", definitions, frozenset({name}))
    _check(schema, where, definitions, frozenset())


def _check(schema: Any, where: str, definitions: Json, inside: frozenset[str]) -> None:
    require(isinstance(schema, dict), f"{where}: must be a schema object")
    for name in schema:
        require(name in KEYWORDS, f'{where}: Unknown name "{name}"')
    if "$ref" in schema:
        _check_reference(schema, where, definitions, inside)
        return
    _check_values(schema, where)
    for name, part in schema.get("properties", {}).items():
        _check(part, f"{where}.properties[{name}]", definitions, inside)
    for keyword in ("anyOf", "oneOf", "prefixItems"):
        parts = schema.get(keyword, [])
        require(
            keyword not in schema or parts or keyword == "prefixItems",
            f"{where}.{keyword}: must not be empty",
        )
        for place, part in enumerate(parts):
            _check(part, f"{where}.{keyword}[{place}]", definitions, inside)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict) or (keyword == "items" and "items" in schema):
            _check(schema[keyword], f"{where}.{keyword}", definitions, inside)


def _check_reference(schema: Json, where: str, definitions: Json, inside: frozenset[str]) -> None:
    others = [name for name in schema if not name.startswith("$")]
    require(not others, f"{where}: beside $ref no {others} may be set")
    name = schema["$ref"].removeprefix("#/$defs/")
    require(name in definitions, f"{where}: $ref leads nowhere")
    require(name not in inside, f"{where}: a cyclic reference")
    _check(definitions[name], f"{where}->{name}", definitions, inside | {name})


def _check_values(schema: Json, where: str) -> None:
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        require(kind in _TYPES, f"{where}.type: {kind}")
    require(
        schema.get("format", "date") in _FORMATS,
        f"{where}.format: only date, date-time and time are supported",
    )
    for each in schema.get("enum", []):
        require(isinstance(each, str | int | float) and not isinstance(each, bool), f"{where}.enum: {each!r}")
    for name in schema.get("required", []):
        require(name in schema.get("properties", {}), f"{where}.required: property is not defined: {name}")
