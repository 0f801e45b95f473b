"""The models of a stage: what functions are told of them, and may call for them."""

import pytest

from tests.infra.stages import SynthesisedStage, synthesise

SECRET = "arn:aws:secretsmanager:eu-central-1:111111111111:secret:{}-AbCdEf"
WORKER, COMPLETION = "worker.handler.handle", "structured_completion.handler.handle"


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> SynthesisedStage:
    overrides = tmp_path_factory.mktemp("stage") / "models.toml"
    overrides.write_text(
        f"""
        [model]
        provider = "anthropic"
        id = "claude-x"
        secret_arn = "{SECRET.format("claude")}"
        by_parameter = true
        allowed = ["openai/gpt-x"]
        fallbacks = ["bedrock/eu.amazon.nova-x", "extractive"]
        guardrail = "gr-1:2"
        [model.secrets]
        openai = "{SECRET.format("gpt")}"
        [model.purposes]
        judging = "openai/gpt-x"
        [model.reasoning]
        judging = "high"
        """
    )
    return synthesise("production", overrides=str(overrides))


def variables(stage: SynthesisedStage, handler: str) -> dict[str, object]:
    return dict(stage.functions()[handler]["Environment"]["Variables"])


@pytest.mark.req("A-PROV-07", "A-CHAT-01", "A-CHAT-02")
def test_an_operator_may_change_the_choice_where_the_stage_lets_him(chosen: SynthesisedStage) -> None:
    worker = variables(chosen, WORKER)

    assert "MODEL_PROVIDER" not in worker
    named = {
        name for name in worker if name.endswith("SSM_PARAMETER") and ("MODEL" in name or "CONV" in name)
    }
    assert named == {
        "MODEL_PROVIDER_SSM_PARAMETER",
        "MODEL_ID_SSM_PARAMETER",
        "ASSISTANT_CONVERSATION_PROVIDER_SSM_PARAMETER",
        "ASSISTANT_CONVERSATION_MODEL_ID_SSM_PARAMETER",
    }
    assert worker["MODEL_ALLOWED"] == "anthropic/claude-x,openai/gpt-x"
    assert worker["MODEL_FALLBACKS"] == "bedrock/eu.amazon.nova-x,extractive"
    assert worker["MODEL_SECRETS"] == f"openai={SECRET.format('gpt')},anthropic={SECRET.format('claude')}"


@pytest.mark.req("A-CHAT-05")
def test_completions_know_no_choice_of_conversations(chosen: SynthesisedStage) -> None:
    assert not [name for name in variables(chosen, COMPLETION) if "CONVERSATION" in name]


@pytest.mark.parametrize("handler", [WORKER, COMPLETION])
def test_a_function_may_call_what_its_models_need(chosen: SynthesisedStage, handler: str) -> None:
    actions = chosen.actions_of(handler)

    assert {"bedrock:InvokeModelWithResponseStream", "bedrock:ApplyGuardrail"} <= actions
    granted = str([s for s in chosen.statements_of(handler) if "secretsmanager" in str(s["Action"])])
    assert SECRET.format("claude") in granted
    assert SECRET.format("gpt") in granted


def test_without_bedrock_nothing_of_it_may_be_called(production: SynthesisedStage) -> None:
    assert not [action for action in production.actions_of(WORKER) if action.startswith("bedrock")]
