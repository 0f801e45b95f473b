"""What both tools do with what was found: give it handles, fence it, and say how much there is."""

from collections.abc import Mapping
from dataclasses import dataclass

from equerry.domain.corpora import list_project_ids
from equerry.domain.evidence import Evidence
from equerry.domain.fencing import fence
from equerry.domain.passage_format import render_passages
from equerry.domain.retrieval import Retrieval, Search
from equerry.engine.tool import ToolOutcome
from equerry.kernel.errors import EquerryError

MAX_QUERY_CHARS = 1_000
PASSAGES = 6


@dataclass(slots=True, kw_only=True)
class PassageFinder:
    """One way to find passages, in one turn.

    Attributes:
        search: bound to the person's scope and the profile's corpora.
        evidence: the turn's; what is not admitted there cannot be cited.
        nonce: the turn's; passages are untrusted text.
    """

    search: Search
    evidence: Evidence
    nonce: str

    def answer(self, arguments: Mapping[str, object], *, name: str) -> ToolOutcome:
        """Search for the argument `name` and answer with what was found, ready for the model."""
        query = arguments.get(name)
        if not isinstance(query, str) or not query.strip():
            return _refuse(f"{name!r} must be text that is not blank.")
        if len(query) > MAX_QUERY_CHARS:
            return _refuse(f"{name!r} must be at most {MAX_QUERY_CHARS} characters, got {len(query)}.")
        try:
            found = self.search(query.strip(), PASSAGES)
        except EquerryError as failure:
            content = f"The search failed: {failure}. If you cannot answer without it, say so."
            return ToolOutcome(content=content, ok=False, failure="failed")
        return self._report(found) if found.passages else _report_nothing(found)

    def _report(self, found: Retrieval) -> ToolOutcome:
        rendered = render_passages(self.evidence.admit(found.passages))
        documents = len({passage.document_id for passage in found.passages})
        return ToolOutcome(
            content=_note(found) + fence(rendered, kind="tool_result", nonce=self.nonce),
            # The nearest there are, of which the answer may use none.
            summary=f"Read {_count(len(found.passages), 'passage')} in {_count(documents, 'document')}",
            facts=_measure(found) | {"documents": documents},
            account=_account(found),
            project_ids=list_project_ids(found.passages),
        )


def _refuse(problem: str) -> ToolOutcome:
    return ToolOutcome(content=problem, ok=False, failure="invalid_arguments")


def _report_nothing(found: Retrieval) -> ToolOutcome:
    # Only what the person may read is named: nothing there and nothing permitted sound the same.
    where = f"in {', '.join(found.searched)}" if found.searched else "in the documents this person may read"
    content = (
        f"No passages were found {where}. Try once in other words, or say that the documents do not answer."
    )
    return ToolOutcome(
        content=_note(found) + content,
        summary="Found nothing",
        facts=_measure(found) | {"documents": 0},
        account=_account(found),
    )


def _measure(found: Retrieval) -> dict[str, object]:
    return {
        "passages": len(found.passages),
        "characters": sum(len(passage.text) for passage in found.passages),
        "byMeaning": found.by_meaning,
    }


def _account(found: Retrieval) -> dict[str, object]:
    return found.decision.to_account() if found.decision else {}


def _note(found: Retrieval) -> str:
    if found.by_meaning:
        return ""
    return "Searched by words alone, because search by meaning is not available just now.\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
