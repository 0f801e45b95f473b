"""`equerry run`: a record as a timeline, and an incident's records."""

from typing import Any

import httpx
import pytest

from local.cli.api import Api, Target
from local.cli.explaining import write_timeline
from local.cli.run_commands import list_records

RECORD: dict[str, Any] = {
    "runId": "0f8e",
    "conversationId": "c0",
    "userId": "ada",
    "organisationId": "northwind",
    "profile": "docs",
    "surface": "chat",
    "mode": "queued",
    "modeReason": "needs_model",
    "status": "ended",
    "attempts": 1,
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "queuedAt": "2031-05-06T12:00:00+00:00",
    "startedAt": "2031-05-06T12:00:00.200000+00:00",
    "firstTextAt": "2031-05-06T12:00:02+00:00",
    "endedAt": "2031-05-06T12:00:03+00:00",
    "stopReason": "end_turn",
    "errorCode": None,
    "composition": {
        "release": "1.2.3+abc",
        "taskClass": "chat",
        "instructions": {
            "profile": "docs",
            "version": "f00d",
            "variantKey": "beef",
            "variables": {"nonce": "n", "degraded": ["lookup_docs"]},
        },
        "tools": [{"name": "search_docs", "schemaSha256": "aa"}],
        "limits": {
            "rounds": 5,
            "toolCalls": 10,
            "wallS": 240.0,
            "roundOutputTokens": 2048,
            "inputTokens": 150000,
            "outputTokens": 8000,
        },
        "historyMessages": 1,
    },
    "outcome": {
        "rounds": [
            {
                "number": 1,
                "provider": "embedded",
                "model": "extractive-1",
                "startedAt": "2031-05-06T12:00:00.300000+00:00",
                "endedAt": "2031-05-06T12:00:01+00:00",
                "stop": "tool_use",
                "inputTokens": 100,
                "outputTokens": 10,
            }
        ],
        "verification": {"citationsVerified": 2, "citationsRemoved": 1, "passagesInContext": 1},
    },
    "inspection": {
        "blocks": [
            {"name": "guidance", "characters": 40, "sha256": "a", "cached": True},
            {"name": "identity", "characters": 20, "sha256": "b", "cached": True},
            {"name": "fence_rules", "characters": 30, "sha256": "c", "cached": False},
        ],
        "tools": [
            {"name": "search_docs", "state": "offered", "reason": None, "calls": 1},
            {"name": "lookup_docs", "state": "withheld", "reason": "switched_off", "calls": 0},
            {"name": "teleport", "state": "unknown", "reason": None, "calls": 2},
        ],
        "corpora": None,
        "searched": ["handbook"],
        "grounding": [
            {
                "passageId": "p-1",
                "documentId": "d-1",
                "corpusId": "handbook",
                "version": 2,
                "score": 0.91,
                "source": "search_docs",
                "position": 0,
                "retrievedAt": "2031-05-06T12:00:01.150000+00:00",
                "cited": True,
            }
        ],
    },
    "steps": [
        {
            "position": 0,
            "toolCallId": "c1",
            "tool": "search_docs",
            "label": "Searching the documents",
            "arguments": {"query": "text of 9 characters"},
            "outcome": "ok",
            "failure": None,
            "resultSummary": {"passages": 1, "documents": 1},
            "decisions": {
                "kind": "search",
                "predicate": "cafe",
                "corpora": ["handbook"],
                "candidates": {"semantic": 50, "lexical": 12},
                "fused": 55,
                "returned": [{"passageId": "p-1", "version": 2, "scores": {"fused": 0.91}}],
            },
            "modelId": "extractive-1",
            "startedAt": "2031-05-06T12:00:01.100000+00:00",
            "finishedAt": "2031-05-06T12:00:01.150000+00:00",
            "durationMs": 50,
        }
    ],
    "deliveries": {"envelopes": 9, "unheard": 0, "reached": 9, "gone": 0, "failed": 1},
    "usage": {
        "taskClass": "chat",
        "model": {"provider": "embedded", "model": "extractive-1"},
        "tokens": {"inputTokens": 200, "outputTokens": 20},
        "complete": True,
        "costUsd": 0.00123,
        "pricedOn": "2026-10-24",
        "toolCalls": 1,
        "passagesRetrieved": 1,
        "charactersRetrieved": 400,
    },
}


def test_a_record_reads_as_a_timeline() -> None:
    text = write_timeline(RECORD)

    told = [line.strip() for line in text.splitlines()]
    moments = [line for line in told if line.startswith("+")]
    assert [line.partition(" s  ")[2] for line in moments] == [
        "accepted",
        "a worker began",
        "round 1 asked embedded/extractive-1",
        "round 1 tool_use: 100 in, 10 out",
        "search_docs began: query text of 9 characters",
        "search_docs ok in 50 ms: passages 1, documents 1",
        "first text sent",
        "ended: end_turn",
    ]
    assert "1. p-1 v2  fused 0.91" in told
    assert "searched handbook under permissions cafe: 50 by meaning, 12 by words, 55 fused" in told
    assert "switched off lookup_docs" in told
    assert "usage        200 tokens in, 20 out; 0.001230 USD of 2026-10-24" in told
    assert "delivery     9 envelopes, 9 frames arrived, 1 did not, 0 had no listener" in told


@pytest.mark.req("P-TRACE-02", "P-TRACE-03")
def test_what_the_turn_had_and_used_is_told_in_the_record_s_order() -> None:
    told = write_timeline(RECORD).splitlines()

    assert "blocks       guidance 40, identity 20 | fence_rules 30" in told
    tools = (
        "search_docs (called once), lookup_docs (withheld: switched off),"
        " teleport (unknown: nobody offered it, called 2 times)"
    )
    assert f"tools        {tools}" in told
    assert "corpora      all this person may read; searched: handbook" in told
    assert "grounding    1 passages, 1 of them cited" in told
    assert "             p-1 v2 of d-1, by search_docs, score 0.91" in told


def test_a_run_that_no_worker_took_and_a_call_without_an_end_are_told_as_such() -> None:
    (step,) = RECORD["steps"]
    left = step | {"outcome": None, "finishedAt": None, "durationMs": None, "decisions": {}}
    text = write_timeline(
        RECORD | {"composition": {}, "outcome": {}, "steps": [left], "deliveries": None, "usage": None}
    )

    assert "No worker composed this run." in text
    assert "never reported their end: search_docs" in text


def test_a_run_that_goes_on_says_that_it_has_not_ended() -> None:
    text = write_timeline(RECORD | {"endedAt": None, "stopReason": None})

    assert "It has not ended yet" in text
    assert "ended: " not in text
    assert "not ended" not in write_timeline(RECORD)


def test_a_run_that_was_answered_in_place_tells_what_it_was_taken_for() -> None:
    made = {"taskClass": "chat", "fastPath": {"intent": "navigate", "tier": "words"}}

    text = write_timeline(RECORD | {"mode": "inline", "composition": made, "outcome": {}, "steps": []})

    assert "fast path    intent navigate, tier words" in text
    assert "answering began" in text
    assert "worker" not in text


@pytest.mark.req("F-INC-07")
def test_an_incident_is_read_page_by_page() -> None:
    asked: list[dict[str, str]] = []
    pages = iter(
        [
            {"records": [{"runId": "a"}], "cursor": "next"},
            {"records": [{"runId": "b"}], "cursor": "last"},
            {"records": [], "cursor": None},
        ]
    )

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        return httpx.Response(200, json=next(pages))

    target = Target(url="http://127.0.0.1:1", headers={}, token="t")
    with Api(target, transport=httpx.MockTransport(answer)) as api:
        found = [record["runId"] for record in list_records(api, {"profile": "docs"})]

    assert found == ["a", "b"]
    assert [query.get("cursor") for query in asked] == [None, "next", "last"]
    assert {query["profile"] for query in asked} == {"docs"}
