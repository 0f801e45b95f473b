"""Exact names, found by the words themselves."""

from collections.abc import Mapping
from dataclasses import dataclass

from equerry.engine.model import ToolSpec
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.packs.docs.passages import MAX_QUERY_CHARS, PassageFinder

_SPEC = ToolSpec(
    name="lookup_docs",
    description=(
        "Find passages that contain exact words: a command, a setting, an error code, a product or person's "
        "name. Give only the name, as it is written; it knows no synonyms and no operators. It searches the "
        "text and headings of the documents the person may read. Not for questions: use search_docs."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "term": {
                "type": "string",
                "description": "The exact words to find.",
                "maxLength": MAX_QUERY_CHARS,
            }
        },
        "required": ["term"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class LookupDocsTool:
    """Searches by words."""

    finder: PassageFinder
    spec: ToolSpec = _SPEC
    label: str = "Looking up the exact words"
    effect: ToolEffect = "read"

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        """See Tool."""
        return self.finder.answer(arguments, name="term")
