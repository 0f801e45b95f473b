"""What each source says of the model, and whom a purpose is sent to."""

from dataclasses import replace

import pytest
from equerry.domain.routing import (
    CONVERSATION_ENVIRONMENT,
    CONVERSATION_PARAMETER,
    ENVIRONMENT,
    EXTRACTIVE,
    FIXTURE,
    PARAMETER,
    ModelTable,
    Stated,
    parse_pairs,
    read_stated,
)
from equerry.domain.routing import TABLE as PURPOSE_TABLE
from equerry.engine.model import ModelChoice

CLAUDE = ModelChoice(provider="anthropic", model="claude-1")
OTHER = ModelChoice(provider="anthropic", model="claude-2")
NOVA = ModelChoice(provider="bedrock", model="eu.amazon.nova-1")
TABLE = ModelTable(allowed=(CLAUDE, OTHER, NOVA), fallbacks=(NOVA,))


def said(provider: str | None = None, model: str | None = None) -> Stated:
    return Stated(provider=provider, model=model)


@pytest.mark.req("A-PROV-07")
def test_the_environment_goes_before_the_parameter_and_that_before_the_default() -> None:
    stated = (ENVIRONMENT, said("anthropic", "claude-1")), ("parameter", said("bedrock", "eu.amazon.nova-1"))

    assert TABLE.resolve(*stated).choice == CLAUDE
    assert TABLE.resolve((ENVIRONMENT, said()), stated[1]).choice == NOVA
    assert TABLE.resolve((ENVIRONMENT, said()), ("parameter", said())).choice == EXTRACTIVE


@pytest.mark.req("A-PROV-08")
def test_only_the_environment_chooses_the_fixture() -> None:
    chosen = TABLE.resolve((ENVIRONMENT, said("fixture")))
    refused = TABLE.resolve((ENVIRONMENT, said()), ("parameter", said("fixture")))

    assert chosen.choice == FIXTURE
    assert refused.choice == EXTRACTIVE
    assert refused.refused == ("parameter: fixture/script-1, which only the environment may choose",)


@pytest.mark.req("A-PROV-06")
@pytest.mark.parametrize("evaluations", [{}, {FIXTURE: "abc"}])
def test_where_models_are_evaluated_nothing_chooses_the_fixture(evaluations: dict[ModelChoice, str]) -> None:
    deployed = replace(TABLE, evaluations=evaluations)

    chosen = deployed.resolve((ENVIRONMENT, said("fixture")))

    assert chosen.choice == EXTRACTIVE
    assert chosen.refused == ("environment: fixture/script-1, which plays a script, and is for tests",)


@pytest.mark.req("A-PROV-09")
@pytest.mark.parametrize("source", [ENVIRONMENT, "parameter"])
def test_a_retired_provider_is_never_chosen(source: str) -> None:
    table = ModelTable(allowed=(ModelChoice(provider="claude-code", model="x"),))

    resolved = table.resolve((source, said("claude-code", "x")))

    assert resolved.choice == EXTRACTIVE
    assert "retired" in resolved.refused[0]


def test_a_pair_that_nobody_allowed_counts_as_unsaid_and_is_reported() -> None:
    resolved = TABLE.resolve(
        (ENVIRONMENT, said()), ("parameter", said("anthropic", "claude-9")), ("default", said("bedrock"))
    )

    assert resolved.choice == NOVA
    assert resolved.refused == ("parameter: anthropic/claude-9, which is not allowed",)


@pytest.mark.req("A-CHAT-03")
def test_provider_and_model_are_stated_apart() -> None:
    shared = ("parameter", said("anthropic", "claude-2"))

    assert TABLE.resolve(("chat", said(model="claude-1")), shared).choice == CLAUDE
    assert TABLE.resolve(("chat", said(provider="anthropic")), shared).choice == OTHER
    assert TABLE.resolve(("chat", said(provider="bedrock")), shared).choice == NOVA
    assert TABLE.resolve(("chat", said()), shared).choice == OTHER


@pytest.mark.req("A-CHAT-04")
def test_chat_takes_a_command_line_from_the_environment_alone() -> None:
    codex = ModelChoice(provider="codex", model="codex-1")
    table = ModelTable(allowed=(codex,))

    assert table.resolve((CONVERSATION_ENVIRONMENT, said("codex"))).choice == codex
    for source in (CONVERSATION_PARAMETER, PARAMETER, ENVIRONMENT, PURPOSE_TABLE):
        resolved = table.resolve((source, said("codex")))
        assert resolved.choice == EXTRACTIVE
        assert resolved.refused == (
            f"{source}: codex/codex-1, which only the conversation environment may choose",
        )


def test_a_command_line_stands_in_for_nobody() -> None:
    codex = ModelChoice(provider="codex", model="codex-1")
    table = ModelTable(allowed=(codex, NOVA), fallbacks=(codex, NOVA))

    assert table.route(CLAUDE, "conversational").arms == (CLAUDE, NOVA)


def test_a_model_alone_is_of_the_provider_that_is_chosen_otherwise() -> None:
    resolved = TABLE.resolve(("chat", said(model="claude-1")), ("parameter", said("bedrock")))

    assert resolved.choice == NOVA
    assert resolved.refused == ("chat: bedrock/claude-1, which is not allowed",)


@pytest.mark.parametrize("blank", [None, "", " ", "-", "UNSET", "unset"])
def test_what_says_nothing_is_unsaid(blank: str | None) -> None:
    assert read_stated(blank, blank).is_silent


@pytest.mark.req("F-ROUTE-01")
def test_a_class_has_its_reasoning_and_those_who_stand_in() -> None:
    table = ModelTable(allowed=(CLAUDE, NOVA), fallbacks=(NOVA, CLAUDE, OTHER), reasoning={"judging": "high"})

    assert table.route(CLAUDE, "judging").arms == (CLAUDE, NOVA)
    assert table.route(CLAUDE, "judging").reasoning == "high"
    assert table.route(CLAUDE, "ambient").reasoning is None


def test_the_responder_without_a_model_may_always_stand_in() -> None:
    assert ModelTable(fallbacks=(EXTRACTIVE,)).route(CLAUDE, "conversational").arms == (CLAUDE, EXTRACTIVE)


def test_pairs_are_read_with_addresses_as_models() -> None:
    arn = "arn:aws:bedrock:eu-central-1:1:inference-profile/eu.x"

    assert parse_pairs(f"anthropic/claude-1, bedrock/{arn},extractive") == (
        CLAUDE,
        ModelChoice(provider="bedrock", model=arn),
        EXTRACTIVE,
    )


@pytest.mark.parametrize("wrong", ["anthropic", "/claude-1", "anthropic/"])
def test_an_entry_that_is_no_pair_is_named(wrong: str) -> None:
    with pytest.raises(ValueError, match="provider/model"):
        parse_pairs(wrong)
