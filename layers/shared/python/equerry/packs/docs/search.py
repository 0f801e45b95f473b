"""`search_docs`, for questions in a person's words, and `lookup_docs`, for exact terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from equerry.domain.evidence import Evidence
from equerry.domain.fencing import fence
from equerry.domain.passage_format import render_passages
from equerry.domain.retrieval import Retrieval, Search
from equerry.engine.model import ToolSpec
from equerry.engine.tool import ToolOutcome
from equerry.kernel.errors import EquerryError

LONGEST_QUERY: Final = 400
USUAL_PASSAGES: Final = 6
MOST_PASSAGES: Final = 10

SEARCH_DOCS: Final = ToolSpec(
    name="search_docs",
    description=(
        "Search the documents the person may read, by meaning and by words. For open questions: write the "
        "query as a full question or sentence about one topic, in the documents' own terms where you know "
        "them. Returns passages, each under a handle to cite it by. Searches the documents' text and "
        "headings; it cannot filter by date or author, and does not search this conversation. For an exact "
        "name, such as a command, a setting or an error code, use lookup_docs."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "maxLength": LONGEST_QUERY, "description": "One question or topic."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_PASSAGES},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)
LOOKUP_DOCS: Final = ToolSpec(
    name="lookup_docs",
    description=(
        "Find passages that contain exact terms: a command, a setting, an identifier, an error code, a "
        "product name. Write only the terms, spelled as they would stand in the text, one to four of them; "
        "passages with all of them come first. It knows no synonyms and no query operators. For a question "
        "in words, use search_docs."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "maxLength": LONGEST_QUERY, "description": "The exact terms."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_PASSAGES},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocsTool:
    """Open questions.

    Attributes:
        search: bound to the person's scope and the profile's corpora.
        evidence: takes the passages in and gives them their handles.
        nonce: fences the passages, which are untrusted.
    """

    search: Search
    evidence: Evidence
    nonce: str
    spec: ToolSpec = SEARCH_DOCS
    label: str = "Searching the documents"

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        """See Tool."""
        return _retrieve(self.search, arguments, self.evidence, self.nonce)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupDocsTool:
    """Exact terms; attributes as in SearchDocsTool."""

    search: Search
    evidence: Evidence
    nonce: str
    spec: ToolSpec = LOOKUP_DOCS
    label: str = "Looking up exact terms"

    def run(self, arguments: Mapping[str, object]) -> ToolOutcome:
        """See Tool."""
        return _retrieve(self.search, arguments, self.evidence, self.nonce)


def _retrieve(search: Search, arguments: Mapping[str, object], evidence: Evidence, nonce: str) -> ToolOutcome:
    query, limit = arguments.get("query"), arguments.get("limit", USUAL_PASSAGES)
    if not isinstance(query, str) or not query.strip():
        return _refuse("'query' must be text that is not blank")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_PASSAGES:
        return _refuse(f"'limit' must be a whole number from 1 to {MOST_PASSAGES}")
    try:
        found = search(" ".join(query.split())[:LONGEST_QUERY], limit)
    except EquerryError as failure:
        return ToolOutcome(
            content=f"The search failed: {failure}. Say so if you cannot answer without it.",
            summary="The search is not available",
            ok=False,
        )
    return _report(found, evidence, nonce) if found.passages else _report_nothing(found)


def _refuse(problem: str) -> ToolOutcome:
    return ToolOutcome(content=f"Invalid arguments: {problem}.", summary="The query was not valid", ok=False)


def _report(found: Retrieval, evidence: Evidence, nonce: str) -> ToolOutcome:
    rendered = render_passages(evidence.admit(found.passages))
    documents = len({passage.document_id for passage in found.passages})
    return ToolOutcome(
        content=_note(found) + fence(rendered, kind="tool_result", nonce=nonce),
        summary=f"{_count(len(found.passages), 'passage')} from {_count(documents, 'document')}",
    )


def _report_nothing(found: Retrieval) -> ToolOutcome:
    if not found.searched:
        content = "Nothing was searched: there are no documents this person may read."
    else:
        content = (
            f"Nothing was found in what this person may read (searched: {', '.join(found.searched)}). "
            "Try once more in other words; otherwise say that the documents do not answer."
        )
    return ToolOutcome(content=_note(found) + content, summary="Nothing found")


def _note(found: Retrieval) -> str:
    if found.by_meaning:
        return ""
    return "Searched by exact words alone, because search by meaning is not available just now.\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
