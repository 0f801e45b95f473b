"""What of JSON Schema the Gemini API knows."""

import json

from equerry.adapters.rounds.subsets import Subset, compile_tool
from equerry.engine.model import ToolSpec
from equerry.engine.schema_walk import Json
from equerry.ports.model import ModelRejected

MOST_BYTES = 64 * 1024
_KEYWORDS = frozenset(
    {
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "prefixItems",
        "properties",
        "required",
        "title",
        "type",
    }
)
# References to what holds itself would have to be unrolled, and are refused where a property is required.
SUBSET = Subset(
    keywords=_KEYWORDS,
    root=_KEYWORDS,
    formats=frozenset({"date", "date-time", "time"}),
    literals=(str, int, float),
    references=True,
)


def compile_schema(tool: ToolSpec) -> tuple[str, Json]:
    """Return the tool's description and schema as the API takes them.

    Raises:
        ModelRejected: the schema is larger than the API takes; nothing was sent.
    """
    description, schema = compile_tool(tool, SUBSET)
    size = len(json.dumps(schema, ensure_ascii=False).encode())
    if size > MOST_BYTES:
        raise ModelRejected(
            f"the schema of {tool.name} has {size} bytes; this model's provider takes {MOST_BYTES}"
        )
    return description, schema
