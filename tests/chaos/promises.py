"""What must hold after any weather, looked up behind the product's back."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from equerry.domain.limits import TurnLimits

from tests.chaos.cell import Cell

WHOLE_TURN = TurnLimits().turn_tokens
UNCOUNTED = ("cancelled", "error", "interrupted")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was submitted; `run_id` if the caller was told that it was accepted."""

    conversation_id: str
    question: str
    run_id: str | None


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as the database has it."""

    run_id: str
    status: str
    stop_reason: str
    provider_started: bool
    tokens: int
    last_seq: int


def check(cell: Cell, organisation: str, asked: Iterable[Asked]) -> None:
    """Hold everything that was asked in an organisation against the promises."""
    for one in asked:
        assert cell.provider.count_repeats(one.question) == 0, "a round was paid for twice"
        if one.run_id is None:
            check_refused(cell, one)
        else:
            check_accepted(cell, one.run_id)
    check_free(cell, organisation)
    check_settled(cell, organisation)
    check_transcripts(cell, organisation)


def check_accepted(cell: Cell, run_id: str) -> None:
    """An accepted run ended, once, visibly, and its log has no gap."""
    log = read_log(cell, run_id)
    assert [entry["sk"] for entry in log] == list(range(1, len(log) + 1))
    types = [entry["type"] for entry in log]
    assert (types[0], types[-1], types.count("done")) == ("accepted", "done", 1), types
    assert types.count("error") <= 1
    (run,) = list_runs(cell, "run_id = %s", run_id)
    assert run.status == "ended"
    assert log[-1]["payload"]["stopReason"] == run.stop_reason
    assert (types[-2] == "error") == (run.stop_reason in ("error", "interrupted")), types


def check_refused(cell: Cell, asked: Asked) -> None:
    """A question that was refused asked no model, runs nowhere and stands in no transcript."""
    assert cell.provider.count_rounds(asked.question) == 0, "a refused question reached the model"
    kept = cell.select("SELECT run_id::text FROM assistant_messages WHERE content = %s", asked.question)
    for (run_id,) in kept:
        (run,) = list_runs(cell, "run_id = %s", run_id)
        assert run.status == "ended"


def check_free(cell: Cell, organisation: str) -> None:
    """No conversation is held by anybody."""
    held = [item for item in cell.scan("LEASES_TABLE") if item["organisation_id"]["S"] == organisation]
    assert held == []


def check_settled(cell: Cell, organisation: str) -> None:
    """The organisation is charged what its runs spent; all that one reserved, where nobody can know."""
    runs = list_runs(cell, "organisation_id = %s", organisation)
    assert [run for run in runs if run.status != "ended"] == []
    known = sum(run.tokens for run in runs if not _is_uncounted(run))
    unknown = sum(WHOLE_TURN for run in runs if _is_uncounted(run))
    items = [item for item in cell.scan("USAGE_TABLE") if item["pk"]["S"] == organisation]
    windows: list[dict[str, Any]] = [item["spent_by_hour"]["M"] for item in items if "spent_by_hour" in item]
    charged = sum(int(hour["N"]) for window in windows for hour in window.values())
    assert known <= charged <= known + unknown, (known, charged, unknown)


def check_transcripts(cell: Cell, organisation: str) -> None:
    """No run has two answers, and no answer stands without its question."""
    rows = cell.select(
        "SELECT run_id::text, array_agg(role ORDER BY position) FROM assistant_messages"
        " WHERE organisation_id = %s GROUP BY run_id",
        organisation,
    )
    assert [row for row in rows if row[1] not in (["user"], ["user", "assistant"])] == []


def check_frames(cell: Cell, frames: Iterable[str]) -> None:
    """What a socket got is of the log; what is missing, a reader fetches, and puts it in order by its seq.

    Where a worker is silent for long enough to be replaced, its last frame may come after its successor's.
    """
    logs: dict[str, dict[int, str]] = {}
    for frame in map(json.loads, frames):
        if frame["seq"] > 0:
            run_id = frame["runId"]
            if run_id not in logs:
                logs[run_id] = {entry["sk"]: entry["type"] for entry in read_log(cell, run_id)}
            assert logs[run_id][frame["seq"]] == frame["type"]


def list_runs(cell: Cell, condition: str, value: str) -> list[StoredRun]:
    """Return the runs that a condition picks."""
    rows = cell.select(
        "SELECT run_id::text, status, coalesce(stop_reason, ''), provider_started, usage, last_seq"
        f" FROM assistant_runs WHERE {condition}",
        value,
    )
    return [
        StoredRun(run_id, status, stop, started, _count_tokens(usage), last_seq)
        for run_id, status, stop, started, usage, last_seq in rows
    ]


def read_log(cell: Cell, run_id: str) -> list[dict[str, Any]]:
    """Return a run's replay log in order."""
    answer = cell.clients["dynamodb"].query(
        TableName=cell.environment["REPLAY_TABLE"],
        KeyConditionExpression="pk = :run",
        ExpressionAttributeValues={":run": {"S": run_id}},
    )
    return [
        {
            "sk": int(item["sk"]["N"]),
            "type": item["event_type"]["S"],
            "payload": json.loads(item["payload"]["S"]),
        }
        for item in answer["Items"]
    ]


def _is_uncounted(run: StoredRun) -> bool:
    return run.provider_started and run.stop_reason in UNCOUNTED


def _count_tokens(usage: dict[str, int]) -> int:
    return int(usage.get("input_tokens", 0)) + int(usage.get("output_tokens", 0))
