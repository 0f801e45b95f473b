"""Which tier decides what a question is after is a setting; one that cannot be loaded fails at once."""

import pytest
from equerry.domain.intents import Intent, IntentContext, NoIntent, WordsTier
from equerry.runtime.intents import build_tier


class NobodyTier:
    """Somebody else's tier, which never takes a question."""

    def classify(self, question: str, context: IntentContext) -> Intent:
        return NoIntent(reason="nobody")


def test_words_are_what_ships() -> None:
    assert isinstance(build_tier("words"), WordsTier)


@pytest.mark.req("A-TURN-14")
def test_another_tier_is_named_by_where_it_is_found() -> None:
    assert isinstance(build_tier(f"{__name__}:NobodyTier"), NobodyTier)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "meaning",
        "nowhere.at_all:Tier",
        f"{__name__}:Missing",
        "json:dumps",
        "json:JSONDecoder",
        "os:sep",
        ":",
        "a b:c",
    ],
)
def test_what_is_no_tier_is_told_at_once(name: str) -> None:
    with pytest.raises(ValueError, match="intent tier"):
        build_tier(name)
