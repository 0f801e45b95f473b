"""Provider health: failing models are left alone, by every process, and their recovery is noticed."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from equerry.domain.breaker import BreakerPolicy, Cooling
from equerry.engine.model import ModelChoice
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable
from equerry.ports.provider_health import ProviderHealthPort

logger = logging.getLogger(__name__)

Verdict = Literal["well", "cooled", "probe"]
"""Ask it; leave it alone; ask it as the one who finds out whether it is well again."""
Start = Callable[[Callable[[], None]], None]
BREAKER = BreakerPolicy()
REFRESH_S = 10.0
"""How old what is known of other processes' failures may be."""


def start_thread(act: Callable[[], None]) -> None:
    """Do something beside what goes on."""
    threading.Thread(target=act, name="provider-health", daemon=True).start()


@dataclass(slots=True)
class _Known:
    """What this process has seen: failures in a row, and what was cooled when it last looked.

    Attributes:
        trying: whose spell was over, and whom this process tries.
    """

    failures: dict[ModelChoice, int] = field(default_factory=dict)
    trying: set[ModelChoice] = field(default_factory=set)
    cooled: Mapping[ModelChoice, Cooling] = field(default_factory=dict)
    looked_s: float | None = None
    looking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderHealthService:
    """Never in the way of a healthy turn: the store is read beside it, and written only about failures.

    Attributes:
        start: does something beside the turn.
    """

    store: ProviderHealthPort
    clock: Clock
    policy: BreakerPolicy = BREAKER
    start: Start = start_thread
    _known: _Known = field(default_factory=_Known)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> None:
        """Begin to learn what others have seen, unless that is fresh; returns at once."""
        with self._guard:
            now_s = self.clock.monotonic_s()
            fresh = self._known.looked_s is not None and now_s - self._known.looked_s < REFRESH_S
            if fresh or self._known.looking:
                return
            self._known.looking = True
        self.start(self._refresh)

    def is_cooled(self, choice: ModelChoice) -> bool:
        """Whether a model is left alone just now, as far as this process knows."""
        cooling = self._known.cooled.get(choice)
        return cooling is not None and not cooling.is_over(self.clock.now())

    def find_cooling(self, choice: ModelChoice) -> Cooling | None:
        """Return what is known of a model that is cooled, or waits to be tried."""
        return self._known.cooled.get(choice)

    def judge(self, choice: ModelChoice) -> Verdict:
        """Whether to ask a model now; `probe` is said to one of all who ask."""
        cooling = self._known.cooled.get(choice)
        if cooling is None:
            return "well"
        now = self.clock.now()
        if not cooling.is_over(now):
            return "cooled"
        until = now + self.policy.probe
        try:
            won = self.store.claim_probe(cooling, until=until)
        except Unavailable:
            won = True  # without the store, this process goes by what it sees itself
        self._keep(Cooling(choice=choice, until=until, times=cooling.times, cause=cooling.cause))
        if not won:
            return "cooled"
        self._known.trying.add(choice)
        return "probe"

    def note_success(self, choice: ModelChoice) -> None:
        """It answered; whatever was held against it is forgotten."""
        self._known.failures.pop(choice, None)
        if choice not in self._known.cooled:
            return
        self._forget(choice)
        self._tell(lambda: self.store.clear(choice))
        logger.info("model_recovered", extra={"provider": choice.provider, "model": choice.model})

    def note_failure(
        self,
        choice: ModelChoice,
        *,
        attempts: int,
        cause: str,
        at_once: bool = False,
        wish_s: float | None = None,
    ) -> None:
        """It failed `attempts` times; `at_once` does not wait for more, `wish_s` is its own wish."""
        known = self._known.cooled.get(choice)
        failed = self._known.failures.get(choice, 0) + attempts
        self._known.failures[choice] = failed
        if known is None and failed < self.policy.failures and not at_once:
            return
        # What fails beside it was asked before the spell began, and is no reason to double it.
        tried = known is None or choice in self._known.trying
        self._known.trying.discard(choice)
        times = (known.times if known else 0) + tried
        cooling = self.policy.cool(choice, self.clock.now(), times=times, cause=cause, wish_s=wish_s)
        self._keep(cooling)
        self._tell(lambda: self.store.cool(cooling))
        spell_s = round((cooling.until - self.clock.now()).total_seconds())
        logger.warning(
            "model_cooled",
            extra={"provider": choice.provider, "model": choice.model, "cause": cause, "spell_s": spell_s},
        )

    def _refresh(self) -> None:
        try:
            seen = {cooling.choice: cooling for cooling in self.store.list_cooled()}
            with self._guard:
                self._known.cooled = seen
        except Unavailable as failure:
            logger.warning("provider_health_unread", extra={"error": str(failure)})
        finally:
            self._known.looked_s = self.clock.monotonic_s()
            self._known.looking = False

    def _keep(self, cooling: Cooling) -> None:
        with self._guard:
            self._known.cooled = {**self._known.cooled, cooling.choice: cooling}

    def _forget(self, choice: ModelChoice) -> None:
        with self._guard:
            self._known.cooled = {kept: each for kept, each in self._known.cooled.items() if kept != choice}

    def _tell(self, act: Callable[[], None]) -> None:
        """Tell the others; whether they hear it decides nothing here."""
        try:
            act()
        except Unavailable as failure:
            logger.warning("provider_health_untold", extra={"error": str(failure)})
