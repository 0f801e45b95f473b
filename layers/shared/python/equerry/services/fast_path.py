"""The fast path: a stage of the one run path, for questions that need no model.

The entry point that accepted a turn classifies its question and, on a hit, answers it in place: same run,
same envelopes, same record, same ending. Whatever goes wrong here leaves the turn to the workers.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from equerry.domain.conversations import Run
from equerry.domain.intents import (
    Classification,
    IntentContext,
    IntentTier,
    NoIntent,
)
from equerry.domain.principal import Scope
from equerry.domain.profiles import Profile
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError
from equerry.services.intents import WordIntentService

logger = logging.getLogger(__name__)

WITHIN_S = 0.3
"""How long classifying may take: a model answers in seconds, and the person waits for the acknowledgement."""


class FastAnswers(Protocol):
    """The half of the path behind a hit; few questions are one, so it may be loaded when one is."""

    def answer(self, run: Run, profile: Profile, taken: Classification) -> bool:
        """See FastAnswerService."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FastPathService:
    """Classifies questions, and has those answered that need no model.

    Attributes:
        tier: decides; may overrule what the words say.
    """

    tier: IntentTier
    words: WordIntentService
    answers: FastAnswers
    clock: Clock

    def classify(
        self, scope: Scope, profile: Profile, question: str, hints: Mapping[str, str]
    ) -> Classification | None:
        """Return what a question is after; None where the profile has no fast path. Never raises.

        Args:
            hints: ids by name, as the page gave them.
        """
        fast_path = profile.fast_path
        if fast_path is None:
            return None
        began_s = self.clock.monotonic_s()
        context = IntentContext(
            scope=scope,
            fast_path=fast_path,
            hints=hints,
            by_words=lambda: self.words.classify(scope, fast_path, question, hints),
            within_s=WITHIN_S,
        )
        try:
            intent = self.tier.classify(question, context)
        except EquerryError as failure:
            logger.warning("fast_path_unavailable", extra={"code": failure.code, "profile": profile.name})
            intent = NoIntent(reason="unavailable")
        except Exception:  # a tier may be anybody's, and a bug in it must not cost the turn
            logger.exception("fast_path_failed", extra={"profile": profile.name})
            intent = NoIntent(reason="failed")
        taken_s = self.clock.monotonic_s() - began_s
        return Classification(intent=intent, duration_ms=round(1000 * taken_s))

    def answer(self, run: Run, profile: Profile, taken: Classification) -> bool:
        """Answer an accepted run in place; False if a worker must take it, which then finds it free."""
        return self.answers.answer(run, profile, taken)
