"""JSON Schema 2020-12 itself, as one schema that refers to nothing but its own root.

The standard's own is spread over eight documents, and finding the way between them takes nine tenths of the
time in which a caller's schema is judged.
"""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY
from referencing import Registry

from equerry.engine.schema_bounds import DIALECT
from equerry.engine.schema_walk import Json


def is_legal(document: Json) -> bool:
    """Whether a document is JSON Schema 2020-12; what is wrong with it, and where, the library tells."""
    try:
        return bool(_build_judge().is_valid(document))
    except RecursionError:
        return False


@cache
def _build_judge() -> Any:
    resolver: Any = REGISTRY.resolver(DIALECT)
    whole = resolver.lookup(DIALECT).contents
    properties: Json = {}
    for part in (whole, *(resolver.lookup(part["$ref"]).contents for part in whole["allOf"])):
        home = REGISTRY.resolver(part["$id"])
        properties |= {name: _inline(held, home) for name, held in part["properties"].items()}
    document = {"type": whole["type"], "properties": properties}
    return Draft202012Validator(document, registry=Registry())


def _inline(held: Any, resolver: Any) -> Any:
    """Put what is referred to in the reference's place; the schema as a whole is the new document's root."""
    if isinstance(held, list):
        return [_inline(part, resolver) for part in held]
    if not isinstance(held, dict):
        return held
    if held.get("$dynamicRef") == "#meta":
        return {"$ref": "#"}
    own = {name: _inline(part, resolver) for name, part in held.items() if name != "$ref"}
    if "$ref" not in held:
        return own
    found = resolver.lookup(held["$ref"])
    return {**_inline(found.contents, found.resolver), **own}
