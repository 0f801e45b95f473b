"""What a stage's file says of a turn's limits is what its functions read."""

from collections.abc import Mapping
from typing import Any

import pytest
from equerry.runtime.settings import LimitSettings

from infra.loading_turns import load_turn_limits
from infra.reading import Reader
from tests.infra.stages import SynthesisedStage

READERS = ("turn.http.handle", "worker.handler.handle")


def load(**table: object) -> tuple[Mapping[str, int], list[str]]:
    reader = Reader(table)
    return load_turn_limits(reader), reader.problems


@pytest.mark.req("A-BUDG-06")
@pytest.mark.parametrize("handler", READERS)
def test_a_deployment_states_no_limit_that_its_file_does_not(
    production: SynthesisedStage, handler: str
) -> None:
    variables: dict[str, Any] = production.functions()[handler]["Environment"]["Variables"]

    assert LimitSettings.from_env({k: str(v) for k, v in variables.items()}).stated_limits == {}


@pytest.mark.parametrize("handler", READERS)
def test_every_function_that_counts_has_the_stage_s_limits(stage: SynthesisedStage, handler: str) -> None:
    variables: dict[str, Any] = stage.functions()[handler]["Environment"]["Variables"]
    read = LimitSettings.from_env({k: str(v) for k, v in variables.items()}).stated_limits

    assert read == stage.config.turns


def test_a_stage_states_only_what_differs() -> None:
    assert load(user_turns_per_minute=5) == ({"user_turns_per_minute": 5}, [])


@pytest.mark.parametrize("table", [{"user_turns_per_minute": 0}, {"daily_tokens": "many"}])
def test_a_limit_that_limits_nothing_is_refused(table: dict[str, object]) -> None:
    _, problems = load(**table)

    assert len(problems) == 1
    assert next(iter(table)) in problems[0]


def test_a_floor_above_a_whole_turn_is_refused() -> None:
    _, problems = load(floor_tokens=200_000)

    assert problems == ["floor_tokens: floor_tokens must be at most 158000, got 200000"]


def test_what_turns_are_counted_by_is_encrypted_and_paid_by_use(stage: SynthesisedStage) -> None:
    (usage,) = [
        table for name, table in stage.of_type("AWS::DynamoDB::Table").items() if "TablesUsage" in name
    ]

    assert [key["AttributeName"] for key in usage["KeySchema"]] == ["pk", "sk"]
    assert {a["AttributeType"] for a in usage["AttributeDefinitions"]} == {"S"}
    assert usage["BillingMode"] == "PAY_PER_REQUEST"
    assert usage["SSESpecification"]["KMSMasterKeyId"]
    assert usage["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
