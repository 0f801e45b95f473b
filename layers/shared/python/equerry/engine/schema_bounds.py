"""What a stranger's JSON Schema may be, before anything runs it."""

from collections.abc import Mapping
from typing import Any

from equerry.engine.schema_walk import (
    Json,
    Path,
    Schema,
    find_anchors,
    find_target,
    list_same_place,
    list_schemas,
    read_at,
    write_pointer,
)
from equerry.kernel.errors import InvalidInput

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEEPEST = 64
"""Levels of JSON, of which a level of the schema takes two."""
MOST_SCHEMAS = 5_000
MOST_LITERALS = 5_000
MOST_STEPS = 1_000_000
"""Keywords that one answer may be held against, a listed value counting as one and a reference as ten."""
_ABROAD = frozenset({"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor"})


class SchemaRefused(InvalidInput):
    """The schema is none, or one that this service does not run; the message says where and why."""

    code = "invalid_schema"

    def __init__(self, detail: str) -> None:
        super().__init__(detail, field="jsonSchema")


def require_shallow(document: Json) -> None:
    """Refuse what nests too deeply for anything here to walk through it."""
    level: list[Any] = [document]
    for _ in range(DEEPEST):
        level = [
            part
            for held in level
            for part in (held.values() if isinstance(held, dict) else held)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise SchemaRefused(f"the schema nests more than {DEEPEST} levels deep")


def require_bounds(document: Json) -> None:
    """Refuse what is too large to be checked against."""
    schemas = [schema for _, schema in list_schemas(document) if isinstance(schema, dict)]
    if len(schemas) > MOST_SCHEMAS:
        raise SchemaRefused(f"the schema holds more than {MOST_SCHEMAS} schemas")
    if sum(len(schema.get("enum", ())) for schema in schemas) > MOST_LITERALS:
        raise SchemaRefused(f"the schema lists more than {MOST_LITERALS} values")


def require_own(document: Json) -> None:
    """Refuse what refers out of the document, or could mean another thing than it says there."""
    if document.get("$schema", DIALECT).rstrip("#") != DIALECT:
        raise SchemaRefused(f"the schema's $schema must be {DIALECT}, or be left out")
    anchors = find_anchors(document)
    known = {path for path, _ in list_schemas(document)}
    for path, schema in list_schemas(document):
        if isinstance(schema, bool):
            continue
        if foreign := _ABROAD & schema.keys() or (path and {"$id", "$schema"} & schema.keys()):
            raise SchemaRefused(f"{write_pointer(path)}: {sorted(foreign)[0]} is not supported")
        if "$ref" in schema and _find_schema(document, schema["$ref"], anchors, known) is None:
            raise SchemaRefused(f"{write_pointer(path)}: $ref must lead to a schema in the same document")


def _find_schema(
    document: Json, reference: str, anchors: Mapping[str, Path], known: set[Path]
) -> Schema | None:
    target = find_target(reference, anchors)
    if target is None:
        return None
    exact = tuple(_read_step(document, target))
    return read_at(document, exact) if exact in known else None


def _read_step(document: Json, path: Path) -> Path:
    """With numbers where the path leads through lists, as paths are written here."""
    return tuple(
        int(step) if isinstance(read_at(document, path[:place]), list) and str(step).isdigit() else step
        for place, step in enumerate(path)
    )


def require_progress(document: Json) -> None:
    """Refuse what leads back to itself over the same value: checking it would not end."""
    anchors = find_anchors(document)
    open_ids: set[int] = set()
    done: set[int] = set()

    def visit(schema: Schema) -> None:
        if isinstance(schema, bool) or id(schema) in done:
            return
        if id(schema) in open_ids:
            raise SchemaRefused("the schema refers to itself without going into a property or an item")
        open_ids.add(id(schema))
        for part in list_same_place(schema):
            visit(part)
        if "$ref" in schema and (target := find_target(schema["$ref"], anchors)) is not None:
            visit(read_at(document, target))
        open_ids.remove(id(schema))
        done.add(id(schema))

    for _, schema in list_schemas(document):
        try:
            visit(schema)
        except RecursionError:
            raise SchemaRefused("the schema's references form too long a chain") from None
