"""One table of limits, each of which the environment, and below it the deployment's override, may change."""

import json
from dataclasses import MISSING, fields
from typing import Any, cast

import pytest
from equerry.adapters.aws.parameters import ParameterReader
from equerry.domain.limits import TurnLimits, resolve_limits
from equerry.runtime.parameters import build_limits
from equerry.runtime.settings import LIMITS, LimitSettings, limit_variable, limit_variables

from tests.fakes.clock import FixedClock
from tests.scripted_ssm import ScriptedSsm

NAME = "/equerry/test/turn-limits"


def read(environment: dict[str, str], override: str | None = None) -> TurnLimits:
    """Return the limits of a process that starts in this environment, beside this parameter."""
    ssm = ScriptedSsm(**({NAME: override} if override is not None else {}))
    settings = LimitSettings.from_env({"TURN_LIMITS_SSM_PARAMETER": NAME, **environment})
    return build_limits(settings, ParameterReader(cast("Any", ssm), FixedClock()))


@pytest.mark.req("A-BUDG-06", "A-LOOP-01", "A-LOOP-02", "A-LOOP-03", "A-LOOP-04", "A-GUARD-06")
def test_without_an_environment_the_limits_are_the_committed_ones() -> None:
    limits = read({})

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
    variables = [limit_variable(limit).upper() for limit in LIMITS]
    environment = {name: str(9_001 + number) for number, name in enumerate(variables)}

    limits = read(environment)

    assert [getattr(limits, field.name) for field in fields(TurnLimits)] == [
        9_001 + number for number in range(len(fields(TurnLimits)))
    ]
    assert {"ASSISTANT_MAX_TOOL_ROUNDS", "ASSISTANT_MAX_TOKENS", "ASSISTANT_HISTORY_MAX_MESSAGES"} <= set(
        variables
    )


def test_what_infra_writes_is_what_functions_read() -> None:
    stated = {"user_turns_per_minute": 7, "tool_rounds": 3, "floor_tokens": 9_999}

    assert LimitSettings.from_env(LimitSettings(**limit_variables(stated)).to_env()).stated_limits == stated


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_limit_that_limits_nothing_stops_the_function_from_starting(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)user_turns_per_minute"):
        read({"ASSISTANT_USER_TURNS_PER_MINUTE": text})


@pytest.mark.req("A-BUDG-07")
@pytest.mark.parametrize("limit", LIMITS)
def test_an_override_changes_a_limit_that_nothing_states(limit: str) -> None:
    assert getattr(read({}, json.dumps({limit: 9_001})), limit) == 9_001


@pytest.mark.req("A-BUDG-07")
def test_what_the_environment_states_goes_before_the_override() -> None:
    limits = read({"ASSISTANT_DAILY_TOKENS": "500000"}, '{"daily_tokens": 900000, "tool_calls": 5}')

    assert limits == TurnLimits(daily_tokens=500_000, tool_calls=5)


@pytest.mark.req("A-BUDG-07")
def test_an_override_takes_effect_when_a_process_starts_and_not_before() -> None:
    ssm, clock = ScriptedSsm(**{NAME: '{"tool_calls": 5}'}), FixedClock()
    parameters = ParameterReader(cast("Any", ssm), clock)
    settings = LimitSettings(turn_limits_ssm_parameter=NAME)
    assert build_limits(settings, parameters).tool_calls == 5

    ssm.values[NAME] = '{"tool_calls": 7}'
    clock.advance(86_400)

    assert build_limits(settings, parameters).tool_calls == 5
    assert build_limits(settings, ParameterReader(cast("Any", ssm), clock)).tool_calls == 7


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("{", "must be a JSON object"),
        ("[1]", "must be a JSON object"),
        ('{"tool_calls": 0, "daily_tokens": 9}', "tool_calls must be a whole number above 0, got 0"),
        ('{"tool_calls": "5", "daily_tokens": 9}', "tool_calls must be a whole number above 0, got '5'"),
        ('{"tool_calls": true, "daily_tokens": 9}', "tool_calls must be a whole number above 0, got True"),
        ('{"tool_call": 5, "daily_tokens": 9}', "there is no limit 'tool_call'"),
        ('{"floor_tokens": 200000}', "floor_tokens must be at most 158000, got 200000"),
    ],
)
def test_an_override_that_is_no_limit_is_refused_and_said(
    override: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    limits = read({}, override)

    assert limits == TurnLimits(daily_tokens=9 if "daily_tokens" in override else 2_000_000)
    (reason,) = (vars(record)["reason"] for record in caplog.records)
    assert reason.endswith(says)


def test_an_outage_of_ssm_at_the_start_leaves_the_committed_limits() -> None:
    ssm = ScriptedSsm(**{NAME: '{"tool_calls": 5}'})
    ssm.out = True
    settings = LimitSettings(turn_limits_ssm_parameter=NAME)

    assert build_limits(settings, ParameterReader(cast("Any", ssm), FixedClock())) == TurnLimits()


def test_every_limit_is_a_setting_of_a_function_that_counts() -> None:
    settings = {field.name for field in fields(LimitSettings) if field.default is not MISSING}

    assert {limit_variable(limit) for limit in LIMITS} <= settings
    assert resolve_limits({}, None).limits == TurnLimits()
