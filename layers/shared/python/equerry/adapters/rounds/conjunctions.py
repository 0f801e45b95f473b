"""Writes several schemas that must all hold as one, which nothing is refused by that fits them all."""

from collections.abc import Callable, Iterator
from typing import Any

from equerry.engine.schema_walk import Json, Schema

_TOGETHER = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
)
"""Keywords that mean something else beside another schema's."""
_TUPLE = frozenset({"prefixItems", "items"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions"})


def merge_conjunctions(schema: Json, find: Callable[[str], Schema | None]) -> tuple[Json, Json]:
    """Return the schema without its `allOf`, and what of that it could not take in.

    Args:
        find: the schema that a reference leads to; None for one that is not to be written out here.
    """
    merged = {keyword: held for keyword, held in schema.items() if keyword != "allOf"}
    unsaid: list[Schema] = []
    waiting = [*schema.get("allOf", ())]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, bool):
            unsaid += [] if part else [part]
            continue
        if "$ref" in part and (target := find(part["$ref"])) is not None:
            part = {keyword: held for keyword, held in part.items() if keyword != "$ref"}
            waiting.insert(0, target)
        waiting[:0] = part.get("allOf", ())
        left = merge(merged, {keyword: held for keyword, held in part.items() if keyword != "allOf"})
        unsaid += [left] if left else []
    return merged, {"allOf": unsaid} if unsaid else {}


def merge(into: Json, part: Json) -> Json:
    """Put `part` into `into`; return what has no place there beside what stands there already."""
    left = {keyword: part[keyword] for keyword in _list_apart(into, part)}
    for keyword, held in part.items():
        if keyword in left:
            continue
        if keyword not in into:
            into[keyword] = held
        elif keyword in _BY_NAME:
            _merge_names(into, keyword, held, left)
        elif keyword == "required":
            into[keyword] = [*into[keyword], *(name for name in held if name not in into[keyword])]
        elif into[keyword] != held:
            left[keyword] = held
    return left


def _list_apart(into: Json, part: Json) -> Iterator[str]:
    """Yield what would mean something else beside the other schema's keywords."""
    tuples = [_TUPLE] if "prefixItems" in into and "prefixItems" in part else []
    for group in (*_TOGETHER, *tuples):
        if group & into.keys():
            yield from sorted(group & part.keys())


def _merge_names(into: Json, keyword: str, held: dict[str, Any], left: Json) -> None:
    known = into[keyword]
    into[keyword] = {**held, **known}
    if unlike := {name: part for name, part in held.items() if name in known and known[name] != part}:
        left[keyword] = unlike
