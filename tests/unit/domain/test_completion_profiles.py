"""Who a model profile asks, and who answers where that cannot be."""

import pytest
from equerry.domain.completion_profiles import CompletionProfile, parse_profiles
from equerry.domain.routing import Stated
from equerry.engine.model import ModelChoice

TENDER_CHECK = """{"tender-check": {"reasoning": "medium", "arms": [
    {"provider": "google", "takes": "(?!claude)"}, {"provider": "anthropic", "takes": "claude"}]}}"""
SHARED = ModelChoice(provider="bedrock", model="nova-1")
GEMINI = ModelChoice(provider="google", model="gemini-2")
CLAUDE = ModelChoice(provider="anthropic", model="claude-1")
AWAY, UNSET = "tender_check_provider_unavailable", "tender_check_model_unset"


@pytest.fixture
def profile() -> CompletionProfile:
    return parse_profiles(TENDER_CHECK)["tender-check"]


@pytest.mark.req("A-SCMP-01", "A-SCMP-03")
def test_a_profile_is_configuration(profile: CompletionProfile) -> None:
    assert (profile.name, profile.variable, profile.reasoning) == ("tender-check", "tender_check", "medium")
    assert parse_profiles("") == {}


@pytest.mark.req("A-SCMP-04", "A-SCMP-05", "A-SCMP-08", "A-SCMP-09")
@pytest.mark.parametrize(
    ("provider", "model", "choice", "events"),
    [
        (None, "gemini-2", GEMINI, ()),
        ("google", "gemini-2", GEMINI, ()),
        ("anthropic", "claude-1", CLAUDE, ()),
        ("anthropic", "gemini-2", GEMINI, (AWAY,)),
        ("anthropic", None, SHARED, (AWAY, UNSET)),
        ("google", None, SHARED, (UNSET,)),
        ("google", "claude-1", SHARED, (UNSET,)),
        (None, None, SHARED, (UNSET,)),
        ("mistral", "gemini-2", GEMINI, (AWAY,)),
    ],
)
def test_each_arm_takes_its_own_models_and_falls_back(
    profile: CompletionProfile,
    provider: str | None,
    model: str | None,
    choice: ModelChoice,
    events: tuple[str, ...],
) -> None:
    resolved = profile.resolve(Stated(provider=provider, model=model), SHARED, is_usable=lambda _: True)

    assert (resolved.choice, resolved.events) == (choice, events)


@pytest.mark.req("A-SCMP-08")
def test_a_pair_that_is_not_allowed_or_has_no_key_counts_as_unset(profile: CompletionProfile) -> None:
    stated = Stated(provider="anthropic", model="claude-1")

    resolved = profile.resolve(stated, SHARED, is_usable=lambda choice: choice != CLAUDE)

    assert (resolved.choice, resolved.events) == (SHARED, (AWAY, UNSET))


@pytest.mark.parametrize(
    "text",
    [
        '{"Tender": {"reasoning": "low", "arms": [{"provider": "google"}]}}',
        '{"a": {"reasoning": "hard", "arms": [{"provider": "google"}]}}',
        '{"a": {"reasoning": "low", "arms": []}}',
        "{",
    ],
)
def test_a_profile_that_says_too_little_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_profiles(text)
