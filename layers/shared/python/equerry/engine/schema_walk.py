"""Which parts of a JSON Schema 2020-12 are schemas themselves, and where its references lead."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
Schema = Json | bool
Path = tuple[str | int, ...]

ONE = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords that hold a schema."""
SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords that hold a list of them."""
NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords that hold them by name."""
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_IN_PLACE = frozenset({"allOf", "anyOf", "dependentSchemas", "else", "if", "not", "oneOf", "then"})


def list_parts(schema: Schema) -> Iterator[tuple[Path, Schema]]:
    """Yield the schemas directly inside, each with its path from here, in the document's order."""
    if isinstance(schema, bool):
        return
    for keyword, held in schema.items():
        if keyword in ONE:
            yield (keyword,), held
        elif keyword in SEVERAL:
            yield from (((keyword, place), part) for place, part in enumerate(held))
        elif keyword in NAMED:
            yield from (((keyword, name), part) for name, part in held.items())


def list_schemas(schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Yield the schema and all inside it, each with its path from the root."""
    yield path, schema
    for step, part in list_parts(schema):
        yield from list_schemas(part, (*path, *step))


def list_same_place(schema: Schema) -> Iterator[Schema]:
    """Yield the schemas inside that judge the same value as the schema itself does."""
    for step, part in list_parts(schema):
        if step[0] in _IN_PLACE:
            yield part


def find_anchors(document: Json) -> dict[str, Path]:
    """Return where the document's own anchors are."""
    return {
        str(schema["$anchor"]): path
        for path, schema in list_schemas(document)
        if isinstance(schema, Mapping) and "$anchor" in schema
    }


def find_target(reference: str, anchors: Mapping[str, Path]) -> Path | None:
    """Return where a reference leads inside the document; None for one that leads out of it."""
    if not reference.startswith("#"):
        return None
    if reference == "#" or reference.startswith("#/"):
        return tuple(_unescape(step) for step in reference.split("/")[1:])
    return anchors.get(reference[1:])


def read_at(document: Json, path: Path) -> Any:
    """Return what stands at a path, whose steps into lists may be digits; None for nothing."""
    found: Any = document
    for step in path:
        if isinstance(found, list) and str(step).isdigit() and int(step) < len(found):
            found = found[int(step)]
        elif isinstance(found, Mapping) and step in found:
            found = found[step]
        else:
            return None
    return found


def write_pointer(path: Path) -> str:
    """Return the path as a reference."""
    return "#" + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _unescape(step: str) -> str:
    """Undo what a reference adds: the escapes of addresses, then those of pointers."""
    plain = _ESCAPED.sub(
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"), step
    )
    return plain.replace("~1", "/").replace("~0", "~")
