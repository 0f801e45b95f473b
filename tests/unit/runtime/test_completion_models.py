"""Where a completion's model comes from, and what the environment and parameters say of profiles."""

import json
from typing import Any

import pytest
from equerry.adapters.aws.parameters import ParameterReader
from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.engine.model import ModelChoice
from equerry.runtime.completion_parts import build_parts
from equerry.services.completion import ChosenModel
from equerry.surfaces.completion import decode_request

from tests.completions import HOST, capture_log, document, image, payload
from tests.contract.models.clock import ScriptedClock
from tests.scripted_ssm import ScriptedSsm
from tests.unit.domain.test_completion_profiles import AWAY, CLAUDE, TENDER_CHECK, UNSET

NOVA = ModelChoice(provider="bedrock", model="nova-1")
ENVIRON = {
    "EQUERRY_STAGE": "test",
    "MODEL_PROVIDER": "bedrock",
    "MODEL_ID": "nova-1",
    "MODEL_ALLOWED": "anthropic/claude-1",
    "MODEL_SECRETS": "anthropic=arn",
    "MODEL_REASONING": "extraction=high",
    "STRUCTURED_COMPLETION_PROFILES": TENDER_CHECK,
    "TENDER_CHECK_PROVIDER_SSM_PARAMETER": "/ai/tender-check/provider",
    "TENDER_CHECK_MODEL_ID_SSM_PARAMETER": "/ai/tender-check/model",
}


def choose(
    environ: dict[str, str] | None = None, held: dict[str, str] | None = None, **asked: Any
) -> ChosenModel:
    clock = ScriptedClock()
    reader = ParameterReader(ScriptedSsm(**held or {}), clock)  # type: ignore[arg-type]  # a stand-in
    parts = build_parts(ENVIRON | (environ or {}), clock, reader, warm=False)
    return parts.service.choose(request(**asked))


def request(**asked: Any) -> CompletionRequest:
    return decode_request(payload(**asked), hosts={HOST})


@pytest.mark.req("A-SCMP-02")
def test_without_a_profile_the_ordinary_model_answers_and_is_not_told_how_hard_to_think() -> None:
    chosen = choose()

    assert (chosen.choice, chosen.reasoning) == (NOVA, None)


@pytest.mark.req("A-SCRQ-12", "A-SCRS-15")
def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(CompletionRefused) as caught:
        choose(modelProfile="the-merger")

    assert caught.value.code == "invalid_request"
    assert "merger" not in str(caught.value)


@pytest.mark.req("A-SCMP-01", "A-SCMP-04", "A-SCMP-05", "A-SCMP-06")
def test_parameters_choose_a_profiles_model_and_the_environment_goes_before_them() -> None:
    held = {"/ai/tender-check/provider": "anthropic", "/ai/tender-check/model": "claude-1"}
    direct = {"TENDER_CHECK_PROVIDER": "anthropic", "TENDER_CHECK_MODEL_ID": "claude-1"}

    assert choose(held=held, modelProfile="tender-check").choice == CLAUDE
    assert choose(held=held, modelProfile="tender-check").reasoning == "medium"
    assert choose(direct, modelProfile="tender-check").choice == CLAUDE
    assert (
        choose({**direct, "TENDER_CHECK_MODEL_ID": "gpt-1"}, held, modelProfile="tender-check").choice == NOVA
    )


@pytest.mark.req("A-SCMP-07", "A-SCMP-08", "A-SCMP-09")
@pytest.mark.parametrize(
    ("provider", "model", "events"),
    [
        ("UNSET", "UNSET", [UNSET]),
        ("anthropic", "UNSET", [AWAY, UNSET]),
        ("anthropic", "claude-2", [AWAY, UNSET]),
    ],
)
def test_what_is_unset_or_not_allowed_falls_back_and_is_logged(
    provider: str, model: str, events: list[str]
) -> None:
    held = {"/ai/tender-check/provider": provider, "/ai/tender-check/model": model}

    with capture_log() as logged:
        chosen = choose(held=held, modelProfile="tender-check")

    assert (chosen.choice, chosen.reasoning) == (NOVA, "medium")
    assert [json.loads(line)["message"] for line in logged.getvalue().splitlines()] == events


@pytest.mark.req("A-SCMP-08")
def test_an_arm_without_a_key_is_not_asked() -> None:
    held = {"/ai/tender-check/provider": "anthropic", "/ai/tender-check/model": "claude-1"}

    assert choose({"MODEL_SECRETS": ""}, held, modelProfile="tender-check").choice == NOVA


@pytest.mark.req("A-SC-01", "A-SCRQ-14")
def test_the_choice_of_conversations_is_never_read() -> None:
    told = {"ASSISTANT_CONVERSATION_PROVIDER": "anthropic", "ASSISTANT_CONVERSATION_MODEL_ID": "claude-1"}

    assert choose(told).choice == NOVA


@pytest.mark.req("A-SCDO-12", "A-SCIM-07")
def test_nobody_stands_in_who_could_not_read_what_was_sent() -> None:
    told = {
        "MODEL_PROVIDER": "anthropic",
        "MODEL_ID": "claude-1",
        "MODEL_SECRET_ARN": "arn",
        "MODEL_ALLOWED": "bedrock/nova-1",
        "MODEL_FALLBACKS": "bedrock/nova-1,extractive",
    }

    def arms(chosen: ChosenModel) -> tuple[ModelChoice, ...]:
        routed: Any = chosen.model
        found: tuple[ModelChoice, ...] = routed.gateway.find_route("extraction").arms
        return found

    assert arms(choose(told)) == (CLAUDE, NOVA)
    assert arms(choose(told, images=[image()])) == (CLAUDE, NOVA)
    assert arms(choose(told, documents=[document()])) == (CLAUDE,)
