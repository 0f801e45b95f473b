"""The inspector says what the record says, of any profile and of any age."""

from dataclasses import replace
from datetime import timedelta

import pytest
from equerry.domain.composition import compose_prompt
from equerry.domain.inspection import GroundingItem, inspect_run
from equerry.domain.manifests import build_manifest
from equerry.domain.profiles import Profile
from equerry.domain.records import RunRecord
from equerry.domain.steps import ToolStep
from equerry.engine.assistant import Assistant
from equerry.kernel.identifiers import ConversationId, CorpusId, RunId, ToolCallId, UserId

from tests.fakes.clock import NOON
from tests.unit.services.test_recording import Look

PROFILE = Profile(
    name="desk",
    version="v1",
    title="Desk",
    identity="You help.",
    guidance="Search first.",
    tools=("look", "lend"),
    corpora=(CorpusId("handbook"),),
)
RECORD = RunRecord(
    run_id=RunId("r"),
    conversation_id=ConversationId("c"),
    user_id=UserId("ada"),
    profile="desk",
    surface="chat",
    mode="queued",
    mode_reason="needs_model",
    status="ended",
    trace_id=None,
    attempts=1,
    created_at=NOON,
    started_at=NOON,
    first_text_at=NOON,
    ended_at=NOON,
    stop_reason="end_turn",
    error_code=None,
    composition={},
    outcome={},
    deliveries=None,
    steps=(),
    usage=None,
)


def record_of(*, is_reversed: bool = False) -> RunRecord:
    composed = compose_prompt(PROFILE, retrieves=True, nonce="n" * 22, degraded=("lend",))
    manifest = build_manifest(
        PROFILE,
        Assistant(prompt=composed.join(), tools=(Look(),)),
        parts=composed.parts[::-1] if is_reversed else composed.parts,
        variables={},
        history=1,
        release="1+a",
    )
    return replace(RECORD, composition=manifest)


def step(tool: str, position: int = 0, **account: object) -> ToolStep:
    return ToolStep(
        position=position,
        call_id=ToolCallId(f"c{position}"),
        tool=tool,
        label="Looking",
        arguments={},
        started_at=NOON,
        finished_at=NOON + timedelta(seconds=1),
        ok=True,
        account=account,
    )


@pytest.mark.req("P-TRACE-03")
def test_blocks_stand_in_the_order_in_which_the_turn_was_composed_whatever_that_was() -> None:
    names = ["identity", "guidance", "citation_rules", "fence_rules", "switched_off"]

    composed, otherwise = inspect_run(record_of()), inspect_run(record_of(is_reversed=True))

    assert [block["name"] for block in composed.blocks] == names
    assert [block["name"] for block in otherwise.blocks] == names[::-1]
    assert list(composed.blocks) == record_of().composition["blocks"]


@pytest.mark.req("P-TRACE-02")
def test_what_the_turn_had_stands_beside_what_it_used() -> None:
    steps = (
        step("look", 0, corpora=["handbook"]),
        step("look", 1, corpora=["handbook"]),
        step("teleport", 2),
    )

    found = inspect_run(replace(record_of(), steps=steps))

    assert [(tool.name, tool.state, tool.reason, tool.calls) for tool in found.tools] == [
        ("look", "offered", None, 2),
        ("lend", "withheld", "switched_off", 0),
        ("teleport", "unknown", None, 1),
    ]
    assert (found.corpora, found.searched) == (("handbook",), ("handbook",))


@pytest.mark.req("P-TRACE-04")
def test_a_passage_of_a_search_is_grounding_with_its_document_score_and_clocks() -> None:
    returned = [
        {
            "passageId": "p-1",
            "documentId": "d-1",
            "corpusId": "handbook",
            "version": 3,
            "scores": {"fused": 0.9},
        },
        {"passageId": "p-2", "documentId": "d-2", "corpusId": "handbook", "version": 1, "scores": {}},
    ]
    verified = {"verification": {"cited": ["p-1"]}}

    first, second = inspect_run(
        replace(record_of(), steps=(step("look", returned=returned),), outcome=verified)
    ).grounding

    assert first == GroundingItem(
        passage_id="p-1",
        document_id="d-1",
        corpus_id="handbook",
        version=3,
        score=0.9,
        source="look",
        position=0,
        retrieved_at=NOON + timedelta(seconds=1),
        cited=True,
    )
    assert (second.score, second.cited) == (None, False)


def test_what_the_fast_path_answered_from_is_grounding_as_well() -> None:
    taken = {"intent": "how_to", "article": "d-1", "passage": "p-1", "score": 0.8}

    (item,) = inspect_run(replace(RECORD, composition={"fastPath": taken})).grounding

    assert (item.passage_id, item.document_id, item.score, item.source) == ("p-1", "d-1", 0.8, "fast_path")
    assert item.cited is None


def test_a_record_without_any_of_it_has_nothing_to_show() -> None:
    found = inspect_run(replace(RECORD, composition={"tools": "odd", "blocks": None, "corpora": ["*"]}))

    assert (found.blocks, found.tools, found.corpora, found.grounding) == ((), (), None, ())
