"""What a turn had against what it used, read from its record and from nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from equerry.domain.records import RunRecord
from equerry.kernel.kinds import result

ToolState = Literal["offered", "withheld", "unknown"]
Entry = Mapping[str, object]


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInspection:
    """A tool of the turn; `unknown` is one that a model called and nobody offered."""

    name: str
    state: ToolState
    reason: str | None = None
    calls: int = 0


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingItem:
    """A passage that a tool, or the fast path, brought into the turn.

    Attributes:
        source: the tool's name, or `fast_path`.
        position: of the call; None for the fast path.
        version: of the document, which is what the passage said at `retrieved_at`.
        score: 0 to 1, as what ranked it last gave it; None where nothing did.
        cited: whether the answer cites it; None where the record does not tell.
    """

    passage_id: str
    document_id: str
    corpus_id: str | None
    version: int | None
    score: float | None
    source: str
    position: int | None
    retrieved_at: datetime | None
    cited: bool | None


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class RunInspection:
    """One turn's available side and used side.

    Attributes:
        blocks: of the instructions, in the order in which they were composed, as recorded.
        corpora: what its profile may search; None for whatever the person may read, or if none is recorded.
        searched: what was searched, in the order it first was.
    """

    blocks: tuple[Entry, ...]
    tools: tuple[ToolInspection, ...]
    corpora: tuple[str, ...] | None
    searched: tuple[str, ...]
    grounding: tuple[GroundingItem, ...]


def inspect_run(record: RunRecord) -> RunInspection:
    """Return what the run had and what it used; of any profile, and of a record that lacks some of it."""
    made = record.composition
    corpora = _texts(made.get("corpora"))
    searched = (corpus for step in record.steps for corpus in _texts(step.account.get("corpora")))
    return RunInspection(
        blocks=_entries(made.get("blocks")),
        tools=tuple(_inspect_tools(record)),
        corpora=None if corpora in ((), ("*",)) else corpora,
        searched=tuple(dict.fromkeys(searched)),
        grounding=tuple(_list_grounding(record)),
    )


def _inspect_tools(record: RunRecord) -> Iterator[ToolInspection]:
    called = [step.tool for step in record.steps]
    offered = [str(tool.get("name")) for tool in _entries(record.composition.get("tools"))]
    withheld = {
        str(tool.get("name")): str(tool.get("reason"))
        for tool in _entries(record.composition.get("withheld"))
    }
    for name in offered:
        yield ToolInspection(name=name, state="offered", calls=called.count(name))
    for name, reason in withheld.items():
        yield ToolInspection(name=name, state="withheld", reason=reason, calls=called.count(name))
    for name in dict.fromkeys(called):
        if name not in offered and name not in withheld:
            yield ToolInspection(name=name, state="unknown", calls=called.count(name))


def _list_grounding(record: RunRecord) -> Iterator[GroundingItem]:
    cited = _find_cited(record)
    if from_help := _find_help(record.composition.get("fastPath")):
        yield _build_item(from_help, cited, source="fast_path", position=None, at=record.started_at)
    for step in record.steps:
        for found in _entries(step.account.get("returned")):
            yield _build_item(found, cited, source=step.tool, position=step.position, at=step.finished_at)


def _find_help(taken: object) -> Entry | None:
    if not isinstance(taken, Mapping) or "passage" not in taken:
        return None
    return {"passageId": taken["passage"], "documentId": taken.get("article"), "score": taken.get("score")}


def _build_item(
    found: Entry, cited: tuple[str, ...] | None, *, source: str, position: int | None, at: datetime | None
) -> GroundingItem:
    passage_id, corpus, version = str(found.get("passageId")), found.get("corpusId"), found.get("version")
    return GroundingItem(
        passage_id=passage_id,
        document_id=str(found.get("documentId")),
        corpus_id=corpus if isinstance(corpus, str) else None,
        version=version if isinstance(version, int) else None,
        score=_find_score(found),
        source=source,
        position=position,
        retrieved_at=at,
        cited=None if cited is None else passage_id in cited,
    )


def _find_score(found: Entry) -> float | None:
    scores = found.get("scores")
    given = dict(scores) if isinstance(scores, Mapping) else {}
    for score in (found.get("score"), *(given.get(name) for name in ("fused", "semantic", "lexical"))):
        if isinstance(score, int | float):
            return float(score)
    return None


def _find_cited(record: RunRecord) -> tuple[str, ...] | None:
    verified = record.outcome.get("verification")
    return _texts(verified["cited"]) if isinstance(verified, Mapping) and "cited" in verified else None


def _entries(listed: object) -> tuple[Entry, ...]:
    return tuple(entry for entry in _list(listed) if isinstance(entry, Mapping))


def _texts(listed: object) -> tuple[str, ...]:
    return tuple(entry for entry in _list(listed) if isinstance(entry, str))


def _list(listed: object) -> Sequence[object]:
    return listed if isinstance(listed, list | tuple) else ()
