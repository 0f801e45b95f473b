"""What a caller is told when they submit a turn: rates, refusals, and the same answer to the same key."""

from typing import Any

import pytest
from equerry.domain.limits import TurnLimits

from tests.unit.runtime.test_http_app import Api, opened
from tests.unit.services.world import World


def ask(
    api: Api, conversation: str, text: str = "Well?", *, key: str | None = None
) -> tuple[int, Any, dict[str, str]]:
    headers = {} if key is None else {"Idempotency-Key": key}
    return api("POST", f"/conversations/{conversation}/messages", {"text": text}, headers=headers)


def test_an_accepted_turn_carries_what_is_left_of_the_rates() -> None:
    api = Api(World())

    status, _, headers = ask(api, opened(api))

    assert status == 202
    assert headers["ratelimit-policy"] == '"user";q=20;w=60, "organisation";q=120;w=60'
    assert headers["ratelimit"] == '"user";r=19;t=60, "organisation";r=119;t=60'


@pytest.mark.req("A-GUARD-04", "F-ABUSE-05")
def test_a_person_who_asks_too_often_is_told_when_to_come_back() -> None:
    api = Api(World(limits=TurnLimits(user_turns_per_minute=1)))
    ask(api, opened(api))
    api.world.clock.advance(20)

    status, problem, headers = ask(api, opened(api))

    assert (status, problem["code"]) == (429, "rate_limited")
    assert headers["retry-after"] == "40"
    assert headers["ratelimit-policy"] == '"user";q=1;w=60'
    assert headers["ratelimit"] == '"user";r=0;t=40'
    assert "ask again in 40 s" in problem["detail"]


@pytest.mark.req("A-GUARD-05")
def test_an_organisation_that_asks_too_often_is_told_so() -> None:
    api = Api(World(limits=TurnLimits(organisation_turns_per_minute=1)))
    ask(api, opened(api))

    status, problem, headers = ask(api, opened(api))

    assert (status, problem["code"], headers["retry-after"]) == (429, "rate_limited", "60")
    assert headers["ratelimit-policy"] == '"organisation";q=1;w=60'


@pytest.mark.req("A-BUDG-04", "A-GUARD-06", "F-ABUSE-05")
def test_an_organisation_without_tokens_is_told_when_there_are_more() -> None:
    api = Api(World(limits=TurnLimits(daily_tokens=158_000)))
    ask(api, opened(api))

    status, problem, headers = ask(api, opened(api))

    assert (status, problem["code"]) == (429, "assistant_daily_limit")
    assert headers["retry-after"] == str(25 * 3_600)


@pytest.mark.req("A-GUARD-03")
def test_a_message_above_the_cap_is_413() -> None:
    api = Api(World())

    status, problem, _ = ask(api, opened(api), "x" * 120_001)

    assert (status, problem["code"]) == (413, "too_large")


@pytest.mark.req("A-GUARD-08")
def test_counters_that_do_not_answer_let_nobody_through() -> None:
    api = Api(World())
    conversation = opened(api)
    api.world.admissions.out = True

    status, problem, headers = ask(api, conversation)

    assert (status, problem["code"], headers["retry-after"]) == (503, "assistant_unavailable", "5")


def test_the_same_key_gets_the_first_acknowledgement_again() -> None:
    api = Api(World())
    conversation = opened(api)

    first, second = ask(api, conversation, key="k-1"), ask(api, conversation, key="k-1")

    assert first[:2] == second[:2]
    assert first[0] == 202
    assert "ratelimit" not in second[2]


def test_the_same_key_with_another_text_is_422() -> None:
    api = Api(World())
    conversation = opened(api)
    ask(api, conversation, key="k-1")

    status, problem, _ = ask(api, conversation, "Something else?", key="k-1")

    assert (status, problem["title"], problem["code"]) == (
        422,
        "Unprocessable Content",
        "idempotency_key_reused",
    )


def test_a_key_whose_question_is_being_accepted_is_409_with_a_code_of_its_own() -> None:
    world = World()
    api = Api(world)
    conversation = opened(api)
    seen: list[tuple[int, Any]] = []
    append = world.store.touch

    def ask_again(*arguments: Any) -> None:
        world.store.touch = append  # type: ignore[method-assign]
        world.store.runs.clear()  # not written yet, to anyone else
        seen.append(ask(api, conversation, key="k-1")[:2])

    world.store.touch = ask_again  # type: ignore[method-assign,assignment]
    ask(api, conversation, key="k-1")

    assert [(status, problem["code"]) for status, problem in seen] == [(409, "submission_in_progress")]


@pytest.mark.parametrize("key", [" ", "k" * 256, "ключ"])
def test_a_malformed_key_is_400(key: str) -> None:
    api = Api(World())

    status, problem, _ = ask(api, opened(api), key=key)

    assert (status, problem["code"]) == (400, "invalid_request")
    assert "Idempotency-Key" in problem["detail"]


def test_the_contract_names_the_key_and_every_refusal() -> None:
    api = Api(World())
    contract = api("GET", "/openapi.json", token=None)[1]

    operation = contract["paths"]["/conversations/{conversationId}/messages"]["post"]

    assert {"in": "header", "name": "Idempotency-Key"}.items() <= operation["parameters"][-1].items()
    assert {"400", "401", "403", "404", "409", "413", "422", "429", "500", "503"} <= set(
        operation["responses"]
    )


@pytest.mark.req("A-KILL-01", "A-KILL-02", "A-GUARD-02", "A-GUARD-01")
@pytest.mark.parametrize("text", ["Well?", "", "x" * 120_001])
def test_a_switched_off_assistant_says_so_before_anything_else(text: str) -> None:
    api = Api(World(limits=TurnLimits(user_turns_per_minute=1)))
    conversation = opened(api)
    ask(api, conversation)
    api.world.switch.set("false")

    status, problem, headers = ask(api, conversation, text)

    assert (status, problem["code"], headers["retry-after"]) == (503, "assistant_disabled", "30")
    unknown = api("POST", "/conversations/unknown/messages", raw="nonsense")
    assert unknown[1]["code"] == "assistant_disabled"
    config = api("GET", "/config", token=None)
    assert (config[0], config[1]["enabled"]) == (200, False)
    assert api.world.model.requests == []
    assert api("GET", f"/conversations/{conversation}")[0] == 200


@pytest.mark.req("A-KILL-04")
def test_a_turn_in_flight_when_the_switch_is_turned_off_is_answered() -> None:
    api = Api(World())
    _, accepted, _ = ask(api, opened(api))
    api.world.switch.set("false")

    api.world.worker.execute(accepted["runId"], accepted["conversationId"])

    assert api("GET", f"/runs/{accepted['runId']}")[1]["message"]["text"] == "Hello there."
