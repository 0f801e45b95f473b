"""Open questions, answered by meaning and words together."""

from collections.abc import Mapping
from dataclasses import dataclass

from equerry.engine.model import ToolSpec
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.packs.docs.passages import MAX_QUERY_CHARS, PassageFinder

_SPEC = ToolSpec(
    name="search_docs",
    description=(
        "Find passages that answer a question asked in a person's own words. Use it for how, why and what "
        "questions. Ask one thing at a time, in a full sentence; ask again in other words if the passages "
        "do not answer. It searches the text and headings of the documents the person may read, not dates, "
        "authors or this conversation. Not for exact names: use lookup_docs for those."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "The question, in a full sentence.",
                "maxLength": MAX_QUERY_CHARS,
            }
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class SearchDocsTool:
    """Searches by meaning."""

    finder: PassageFinder
    spec: ToolSpec = _SPEC
    label: str = "Searching the documents"
    effect: ToolEffect = "read"

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        """See Tool."""
        return self.finder.answer(arguments, name="query")
