"""For providers that know all of JSON Schema, except that a tool's input must plainly be an object."""

from equerry.adapters.rounds.conjunctions import merge_conjunctions
from equerry.adapters.rounds.subsets import add_note
from equerry.engine.model import ToolSpec
from equerry.engine.schema_walk import Json, find_anchors, find_target, list_schemas, read_at

_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf"})
_LOOKING_ASIDE = frozenset({"unevaluatedProperties"})
"""What would refuse the properties that only the alternatives know."""


def flatten_root(tool: ToolSpec) -> tuple[str, Json]:
    """Return the tool's description and schema, without alternatives at the root.

    A schema that has none there is left as it is.
    """
    schema = dict(tool.input_schema)
    if not _ALTERNATIVES & schema.keys():
        return tool.description, schema
    whole, unsaid = merge_conjunctions(schema, lambda _: None)
    dropped = _ALTERNATIVES | _LOOKING_ASIDE | ({"$ref"} if "$ref" not in schema else set())
    kept = {keyword: held for keyword, held in whole.items() if keyword not in dropped}
    unsaid |= {keyword: held for keyword, held in whole.items() if keyword in dropped}
    if _dangles(kept):
        kept, unsaid = {"type": "object"}, schema
    return add_note(tool.description, unsaid), kept


def _dangles(schema: Json) -> bool:
    """Whether a reference leads to where nothing is any more."""
    anchors = find_anchors(schema)
    for _, part in list_schemas(schema):
        if not isinstance(part, bool) and "$ref" in part:
            target = find_target(part["$ref"], anchors)
            if target is None or read_at(schema, target) is None:
                return True
    return False
