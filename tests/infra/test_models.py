"""The models of a stage: what functions are told of them, and may call for them."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from equerry.domain.evaluations import name_file

from infra.loading import STAGES, parse
from infra.model_evaluations import EVALUATIONS, read_evaluations
from infra.reading import ConfigurationRefused
from tests.infra.evaluated import evaluate, keep_evaluations
from tests.infra.stages import SynthesisedStage, synthesise

SECRET = "arn:aws:secretsmanager:eu-central-1:111111111111:secret:{}-AbCdEf"
PAIRS = ("anthropic/claude-x", "openai/gpt-x", "bedrock/eu.amazon.nova-x")
WORKER, COMPLETION = "worker.handler.handle", "structured_completion.handler.handle"


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> SynthesisedStage:
    overrides = tmp_path_factory.mktemp("stage") / "models.toml"
    evaluations = keep_evaluations(overrides.parent / "evaluations", *map(evaluate, PAIRS))
    overrides.write_text(
        f"""
        [model]
        provider = "anthropic"
        id = "claude-x"
        secret_arn = "{SECRET.format("claude")}"
        by_parameter = true
        evaluations = "{evaluations}"
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
    assert worker["MODEL_ALLOWED"] == ",".join(PAIRS)
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


@pytest.mark.req("F-GATE-06", "F-ROUTE-03")
@pytest.mark.parametrize("handler", [WORKER, COMPLETION])
def test_a_function_is_told_what_admitted_each_model(chosen: SynthesisedStage, handler: str) -> None:
    told = str(variables(chosen, handler)["MODEL_EVALUATIONS"])

    assert dict(entry.split("=") for entry in told.split(",")) == {
        pair: evaluate(pair).reference for pair in PAIRS
    }


def test_a_stage_without_models_admits_none_and_a_desk_all(
    production: SynthesisedStage, local: SynthesisedStage
) -> None:
    assert variables(production, WORKER)["MODEL_EVALUATIONS"] == "-"
    assert variables(local, WORKER)["MODEL_EVALUATIONS"] == "any"


LACKING = {
    "has no evaluation": (),
    "has no evaluation of its own": (evaluate("anthropic/claude-y"),),
    "did not pass": (evaluate("anthropic/claude-x", passed=1),),
    "with other cases": (evaluate("anthropic/claude-x", cases_version=0),),
    "with other cases than none": (replace(evaluate("anthropic/claude-x"), outcomes=()),),
    "with other cases than one": (
        replace(evaluate("anthropic/claude-x"), outcomes=evaluate("anthropic/claude-x").outcomes[:1]),
    ),
}


@pytest.mark.req("F-GATE-06", "F-ROUTE-03")
@pytest.mark.parametrize("role", ["id", "allowed", "fallbacks", "purposes"])
@pytest.mark.parametrize("lacking", LACKING)
def test_no_stage_is_deployed_with_a_model_that_nothing_admits(
    tmp_path: Path, lacking: str, role: str
) -> None:
    folder = keep_evaluations(tmp_path / "evaluations", *LACKING[lacking])
    table = tomllib.loads((STAGES / "production.toml").read_text())
    named = {"provider": "anthropic", "id": "claude-x", "secret_arn": SECRET.format("x")}
    roles: dict[str, dict[str, object]] = {
        "id": {**named},
        "allowed": {"allowed": ["anthropic/claude-x"]},
        "fallbacks": {"fallbacks": ["anthropic/claude-x", "extractive"]},
        "purposes": {"purposes": {"judging": "anthropic/claude-x"}},
    }
    table["model"] = {**roles[role], "evaluations": str(folder)}

    with pytest.raises(
        ConfigurationRefused, match="run `equerry models check anthropic/claude-x`"
    ) as refused:
        parse(table, source="test")
    assert " ".join(lacking.split()[:3]) in str(refused.value)


def test_a_file_that_is_no_evaluation_is_named(tmp_path: Path) -> None:
    (tmp_path / "oops.json").write_text('{"provider": "anthropic"}')
    table = tomllib.loads((STAGES / "production.toml").read_text())
    table["model"] = {"evaluations": str(tmp_path)}

    with pytest.raises(ConfigurationRefused, match=r"oops\.json cannot be read"):
        parse(table, source="test")


def test_what_is_committed_can_be_read() -> None:
    for found in read_evaluations(EVALUATIONS):
        assert (EVALUATIONS / name_file(found.choice)).is_file()
