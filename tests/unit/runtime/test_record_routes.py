"""Records of runs over HTTP: whose they are, what they hold, and what an administrator may ask."""

from typing import Any
from urllib.parse import parse_qsl

import pytest
from equerry.adapters.fixture.script import call, replay, say
from equerry.domain.activity import DraftRecord
from equerry.kernel.identifiers import DraftId, RunId

from tests.fakes.activity import MemoryActivityAdapter
from tests.unit.runtime.test_http_app import UNKNOWN, Api
from tests.unit.services.test_recording import Look
from tests.unit.services.world import ADA, World

CANARY = "canary-0f9e8d7c6b5a"


@pytest.fixture
def api() -> Api:
    rounds = [step for _ in range(4) for step in (call("look", query=CANARY), say(f"Hello {CANARY}."))]
    return Api(World(script=replay(rounds), build_tools=lambda *_: (Look(),)))


def ask(api: Api, *, token: str = "ada") -> str:
    """Have a question answered; returns the run's id."""
    conversation = read(api, "POST", "/conversations", {}, token=token)["conversationId"]
    address = f"/conversations/{conversation}/messages"
    accepted = read(api, "POST", address, {"text": CANARY}, token=token)
    api.world.worker.execute(accepted["runId"], conversation)
    return str(accepted["runId"])


def read(api: Api, method: str, path: str, body: object = None, *, token: str = "ada") -> Any:
    return request(api, method, path, body, token=token)[1]


def request(api: Api, method: str, path: str, body: object = None, *, token: str = "ada") -> tuple[int, Any]:
    address, _, text = path.partition("?")
    status, answer, _ = api(method, address, body, token=token, query=dict(parse_qsl(text)) or None)
    return status, answer


@pytest.mark.req("F-INC-06", "P-TRACE-01")
def test_the_creator_reads_structure_timings_tools_and_redacted_arguments(api: Api) -> None:
    run_id = ask(api)

    status, record = request(api, "GET", f"/runs/{run_id}/record")

    assert status == 200
    assert (record["runId"], record["userId"], record["status"]) == (run_id, "ada", "ended")
    assert record["composition"]["instructions"]["version"] == "v1"
    (step,) = record["steps"]
    assert step["arguments"] == {"query": f"text of {len(CANARY)} characters"}
    assert (step["outcome"], step["resultSummary"]) == ("ok", {"passages": 2, "characters": 900})
    assert record["usage"]["tokens"]["inputTokens"] >= 0
    assert record["usage"]["costUsd"] == 0
    assert record["endedAt"] >= record["firstTextAt"] >= record["queuedAt"]
    assert CANARY not in str(record)


def test_strangers_and_unknown_runs_are_the_same_404_and_a_malformed_id_a_400(api: Api) -> None:
    run_id = ask(api)

    asked = ((run_id, "ben"), (run_id, "eve"), (UNKNOWN, "ada"), (UNKNOWN, "root"))
    answers = [request(api, "GET", f"/runs/{wanted}/record", token=who) for wanted, who in asked]

    assert {(status, body["code"]) for status, body in answers} == {(404, "not_found")}
    assert request(api, "GET", "/runs/7/record")[0] == 400


@pytest.mark.req("F-INC-07")
def test_an_administrators_look_at_anothers_record_stands_in_the_activity(api: Api) -> None:
    run_id = ask(api)

    assert request(api, "GET", f"/runs/{run_id}/record", token="root")[0] == 200

    rows = read(api, "GET", "/activity?tool=run_record_read", token="root")["rows"]
    looks = [(row["runId"], row["userId"], row["arguments"]) for row in rows]
    assert looks == [(run_id, "root", {})]


@pytest.mark.req("F-INC-07")
def test_an_incident_is_exported_page_by_page_without_a_word_that_was_said(api: Api) -> None:
    runs = [ask(api), ask(api), ask(api, token="ben")]

    first = read(api, "GET", "/run-records?limit=2", token="root")
    second = read(api, "GET", f"/run-records?limit=2&cursor={first['cursor']}", token="root")
    named = read(api, "GET", f"/run-records?runIds={runs[0]},{runs[2]}&profile=docs", token="root")

    found = [record["runId"] for record in (*first["records"], *second["records"])]
    assert sorted(found) == sorted(runs)
    assert {record["runId"] for record in named["records"]} == {runs[0], runs[2]}
    assert CANARY not in str((first, second, named))
    assert request(api, "GET", "/run-records", token="eve")[0] == 403
    assert request(api, "GET", "/run-records")[0] == 403


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("from=yesterday", "from"),
        ("to=2031-05-06T12:00:00", "to"),
        ("runIds=7", "runIds"),
        ("cursor=x", "cursor"),
    ],
)
def test_what_does_not_fit_is_named(api: Api, query: str, field: str) -> None:
    status, problem = request(api, "GET", f"/run-records?{query}", token="root")

    assert status == 400
    assert field in problem["detail"]


@pytest.mark.req("A-ADMIN-01", "A-ADMIN-11", "A-ADMIN-13")
def test_activity_says_how_long_rows_are_kept_and_fatigue_that_there_is_too_little(api: Api) -> None:
    ask(api)

    assert read(api, "GET", "/activity", token="root")["retentionDays"] == 730
    assert read(api, "GET", "/activity/fatigue", token="root") == {
        "windowDays": 30,
        "accepted": 0,
        "unedited": 0,
        "uneditedPct": None,
        "sufficientData": False,
        "flagged": False,
    }
    assert request(api, "GET", "/activity/fatigue")[0] == 403
    assert request(api, "GET", "/activity")[0] == 403


@pytest.mark.req("A-ADMIN-14", "A-ADMIN-15")
def test_a_flagged_organisation_is_told_so_and_goes_on_asking(api: Api) -> None:
    run_id = ask(api)
    for number in range(20):
        draft = DraftRecord(
            draft_id=DraftId(f"draft-{number}"),
            run_id=RunId(run_id),
            conversation_id=api.world.store.runs[RunId(run_id)].conversation_id,
            stage="accepted",
            target="estimate",
            operation="update",
            edited=False,
            at=api.world.clock.now(),
        )
        MemoryActivityAdapter(api.world.store).record_draft(ADA, draft)

    found = read(api, "GET", "/activity/fatigue", token="root")

    assert (found["accepted"], found["uneditedPct"], found["flagged"]) == (20, 100.0, True)
    assert request(api, "GET", f"/runs/{ask(api)}")[0] == 200


@pytest.mark.req("A-PROG-01")
def test_a_reopened_conversation_has_the_steps_of_its_answers(api: Api) -> None:
    run_id = ask(api)
    conversation = read(api, "GET", f"/runs/{run_id}")["conversationId"]

    question, answer = read(api, "GET", f"/conversations/{conversation}")["messages"]

    assert question["steps"] == []
    (step,) = answer["steps"]
    assert (step["tool"], step["label"], step["state"], step["summary"]) == (
        "look",
        "Looking it up",
        "done",
        "Found 2 things",
    )
