"""Wires the fast path: which tier decides what a question is after."""

from pathlib import Path
from pkgutil import resolve_name
from typing import Any, cast

from equerry.adapters.filesystem.catalogues import FolderCatalogueAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter
from equerry.domain.intents import IntentTier, WordsTier
from equerry.runtime.settings import HttpSettings
from equerry.runtime.turn_parts import TurnParts
from equerry.services.fast_path import WITHIN_S, FastAnswers, FastPathService
from equerry.services.intents import WordIntentService

OFF = "off"


def build_fast_path(settings: HttpSettings, parts: TurnParts, answers: FastAnswers) -> FastPathService | None:
    """Return the fast path; None where the deployment has none. Nothing is read before its first question.

    Raises:
        ValueError: the setting names no tier; the deployment fails, and no question.
    """
    if settings.intent_tier == OFF:
        return None
    return FastPathService(
        tier=build_tier(settings.intent_tier),
        words=WordIntentService(
            catalogues=FolderCatalogueAdapter(Path(settings.profiles_path) / "catalogues"),
            words=PostgresLexicalIndexAdapter(parts.database, within_s=WITHIN_S),
        ),
        answers=answers,
        clock=parts.clock,
    )


def build_tier(name: str) -> IntentTier:
    """Return the tier of a name: `words`, the shipped one, or `package.module:callable` that returns one.

    Raises:
        ValueError: there is nothing of that name, or it returns no tier.
    """
    if name == "words":
        return WordsTier()
    try:
        tier: Any = resolve_name(name)() if ":" in name else None
    except (ImportError, AttributeError, ValueError, TypeError) as unknown:
        raise ValueError(f"the intent tier {name!r} cannot be loaded: {unknown}") from unknown
    if not callable(getattr(tier, "classify", None)):
        raise ValueError(f"the intent tier must be 'words', 'off' or 'package.module:callable', got {name!r}")
    return cast("IntentTier", tier)
