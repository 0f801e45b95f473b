"""One table of limits, each of which the environment may override."""

from dataclasses import fields

import pytest
from equerry.domain.limits import TurnLimits
from equerry.runtime.settings import LimitSettings, limit_variables


@pytest.mark.req("A-BUDG-06", "A-LOOP-01", "A-LOOP-02", "A-LOOP-03", "A-LOOP-04", "A-GUARD-06")
def test_without_an_environment_the_limits_are_the_committed_ones() -> None:
    limits = LimitSettings.from_env({}).turn_limits

    assert limits == TurnLimits()
    assert (limits.daily_tokens, limits.floor_tokens, limits.turn_tokens) == (2_000_000, 8_000, 158_000)
    assert (limits.tool_rounds, limits.round_tokens, limits.history_messages, limits.tool_calls) == (
        8,
        2_048,
        40,
        20,
    )


@pytest.mark.req("A-BUDG-06", "A-LOOP-01", "A-LOOP-02", "A-LOOP-03")
def test_each_limit_has_its_variable() -> None:
    variables = [name.upper() for name in limit_variables(TurnLimits())]
    environment = {name: str(9_001 + number) for number, name in enumerate(variables)}

    read = LimitSettings.from_env(environment).turn_limits

    assert sorted(getattr(read, field.name) for field in fields(TurnLimits)) == [
        9_001 + number for number in range(len(fields(TurnLimits)))
    ]
    assert {"ASSISTANT_MAX_TOOL_ROUNDS", "ASSISTANT_MAX_TOKENS", "ASSISTANT_HISTORY_MAX_MESSAGES"} <= set(
        variables
    )


def test_what_infra_writes_is_what_functions_read() -> None:
    limits = TurnLimits(user_turns_per_minute=7, tool_rounds=3, floor_tokens=9_999)

    assert LimitSettings.from_env(LimitSettings(**limit_variables(limits)).to_env()).turn_limits == limits


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_limit_that_limits_nothing_stops_the_function_from_starting(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)user_turns_per_minute"):
        _ = LimitSettings.from_env({"ASSISTANT_USER_TURNS_PER_MINUTE": text}).turn_limits
