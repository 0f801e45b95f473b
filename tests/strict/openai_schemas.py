"""Which JSON Schemas the strict subset of the Responses API takes, and how it refuses the others."""

from typing import Any

from tests.strict.replies import Json, require

_ANNOTATIONS = {"description", "title", "$defs"}
_OF_TYPE = {
    "string": {"pattern", "format"},
    "number": {"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"},
    "array": {"items", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
}
KEYWORDS = {"type", "enum", "const", "anyOf", "$ref", *_ANNOTATIONS}.union(*_OF_TYPE.values())
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
_MOST_PROPERTIES, _MOST_LEVELS, _MOST_LITERALS = 5_000, 10, 1_000


def check_strict_schema(schema: Any, name: str) -> None:
    """Raise Illegal for the first rule that is broken."""
    where = f"Invalid schema for function '{name}':"
    require(schema.get("type") == "object" and "anyOf" not in schema, f"{where} the root must be an object")
    definitions = schema.get("$defs", {})
    parts = [schema, *definitions.values()]
    counts = [_check(part, where, definitions, 0) for part in parts]
    require(sum(count for count, _ in counts) <= _MOST_PROPERTIES, f"{where} too many properties")
    require(sum(count for _, count in counts) <= _MOST_LITERALS, f"{where} too many enum values")


def _check(schema: Any, where: str, definitions: Json, level: int) -> tuple[int, int]:
    """Return how many properties and listed values it has."""
    require(isinstance(schema, dict), f"{where} a schema must be an object")
    require(level <= _MOST_LEVELS, f"{where} {level} levels of nesting exceeds limit of {_MOST_LEVELS}")
    for keyword in schema:
        require(keyword in KEYWORDS, f"{where} '{keyword}' is not permitted")
    if "$ref" in schema:
        require(schema.keys() == {"$ref"}, f"{where} $ref cannot have keywords {sorted(schema)}")
        known = schema["$ref"] == "#" or schema["$ref"].removeprefix("#/$defs/") in definitions
        require(known, f"{where} {schema['$ref']} leads nowhere")
        return 0, 0
    require("type" in schema or schema.get("anyOf"), f"{where} schema must have a 'type' key")
    require(
        schema.get("format", "date") in _FORMATS, f"{where} '{schema.get('format')}' is not a valid format"
    )
    properties = schema.get("properties", {})
    if "object" in schema.get("type", ()):
        require(schema.get("additionalProperties") is False, f"{where} 'additionalProperties' must be false")
        required = schema.get("required", [])
        require(set(required) == set(properties), f"{where} 'required' must list every property")
    require("array" not in schema.get("type", ()) or "items" in schema, f"{where} array schema missing items")
    deeper = [(part, level + 1) for part in properties.values()]
    deeper += [(schema["items"], level + 1)] if "items" in schema else []
    deeper += [(part, level) for part in schema.get("anyOf", [])]
    counts = [_check(part, where, definitions, depth) for part, depth in deeper]
    listed = len(schema.get("enum", []))
    return len(properties) + sum(each for each, _ in counts), listed + sum(each for _, each in counts)
