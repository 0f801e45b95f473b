"""The model gateway: one way to every model of every provider, with others standing in for one that fails."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from threading import BoundedSemaphore

from equerry.domain.routing import Purpose, Route
from equerry.engine.cancellation import Cancellation
from equerry.engine.model import (
    ModelChoice,
    ModelRequest,
    ModelStream,
    Restarted,
    RoundEnd,
    StillWorking,
)
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError, Unavailable
from equerry.ports.model import ModelCancelled, ModelGone, ModelPort, ModelUnavailable, ModelUnusable
from equerry.services.model_watch import ModelWatchService
from equerry.services.provider_health import ProviderHealthService, Verdict

logger = logging.getLogger(__name__)

_NAP_S = 0.25
LEAST_USEFUL_S = 5.0
"""A model that would have less time than this is not asked any more."""


class ModelBusy(Unavailable):
    """As many rounds are under way as this process may have, and none ended in time."""

    code = "model_busy"

    def __init__(self) -> None:
        super().__init__("too many answers are being written at once; ask again in a moment")


class ConcurrencyLimit:
    """Bounds the rounds under way at one provider; who comes later waits, and then is turned away."""

    def __init__(self, most: int, *, wait_s: float) -> None:
        self._free = BoundedSemaphore(most)
        self._wait_s = wait_s

    @contextmanager
    def hold(self, at_most_s: float, cancellation: Cancellation) -> Iterator[None]:
        """Have a place until the block ends.

        Raises:
            ModelBusy: none became free.
            ModelCancelled: nobody waits for one any more.
        """
        left_s = max(0.0, min(self._wait_s, at_most_s))
        while not self._free.acquire(timeout=min(_NAP_S, left_s)):
            left_s -= _NAP_S
            if cancellation.cancelled:
                raise ModelCancelled("the round was cancelled")
            if left_s <= 0:
                raise ModelBusy
        try:
            yield
        finally:
            self._free.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayService:
    """Opens the model of a purpose.

    Attributes:
        find_route: asked anew for every call, so that a changed choice takes effect; must be cheap.
        open_model: returns the adapter of a pair, the same each time.
        find_limit: the bound of a provider, the same each time.
    """

    find_route: Callable[[Purpose], Route]
    open_model: Callable[[ModelChoice], ModelPort]
    find_limit: Callable[[str], ConcurrencyLimit]
    health: ProviderHealthService
    watch: ModelWatchService
    clock: Clock

    def open(self, purpose: Purpose) -> ModelPort:
        """Return the model of a purpose; who really ran is told in `RoundEnd.model`."""
        return _RoutedModel(gateway=self, purpose=purpose)

    def find_stand_in(self, purpose: Purpose) -> ModelChoice | None:
        """Return who would answer because the model that is wanted is left alone; None where that one would.

        It goes by what this process knows; a model that fails now is found out by asking it.
        """
        self.health.look()
        wanted, *others = self.find_route(purpose).arms
        if not self.health.is_cooled(wanted):
            return None
        return next((other for other in others if not self.health.is_cooled(other)), None)

    def is_cooled(self, purpose: Purpose) -> bool:
        """Whether every model of a purpose is left alone just now, as far as this process knows."""
        return all(self.health.is_cooled(arm) for arm in self.find_route(purpose).arms)


@dataclass(slots=True, kw_only=True)
class _Call:
    """One round on its way through a route's arms.

    Attributes:
        left: attempts that may still be made, in all.
        waiting: arms that have not been asked yet.
        begun: something of the arm that was asked has been handed on.
        restarted: an arm was asked once more, after it had broken off.
    """

    request: ModelRequest
    route: Route
    deadline_s: float
    left: int
    waiting: list[ModelChoice]
    begun: bool = False
    restarted: bool = False
    failure: EquerryError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _RoutedModel:
    """ModelPort over a route."""

    gateway: GatewayService
    purpose: Purpose

    @property
    def choice(self) -> ModelChoice:
        """The model that is wanted; asking for it begins to learn how it is."""
        self.gateway.health.look()
        return self.gateway.find_route(self.purpose).arms[0]

    def stream(self, request: ModelRequest) -> ModelStream:
        """Ask the arms in order until one answers; see ModelPort."""
        route = self.gateway.find_route(self.purpose)
        self.gateway.health.look()
        self.gateway.watch.look(route.arms)
        call = _Call(
            request=request,
            route=route,
            deadline_s=self.gateway.clock.monotonic_s() + request.deadline_s,
            left=request.attempts,
            waiting=list(route.arms),
        )
        while call.waiting:
            arm = call.waiting.pop(0)
            verdict = self.gateway.health.judge(arm)
            if verdict == "cooled":
                continue
            others = [other for other in call.waiting if not self.gateway.health.is_cooled(other)]
            if call.failure is not None:
                yield from self._announce(call, arm)
            try:
                yield from self._play(call, arm, attempts=_share(call.left, others, verdict))
            except (Unavailable, ModelUnusable) as failure:
                self._require_another(call, arm, failure, others)
            else:
                return
        raise call.failure or self._describe_cooled(route)

    def _play(self, call: _Call, arm: ModelChoice, *, attempts: int) -> ModelStream:
        left_s = call.deadline_s - self.gateway.clock.monotonic_s()
        asked = replace(
            call.request,
            attempts=attempts,
            deadline_s=left_s,
            reasoning=call.request.reasoning or call.route.reasoning,
        )
        with self.gateway.find_limit(arm.provider).hold(left_s, asked.cancellation):
            yield from self._pass_on(call, arm, asked)
        self.gateway.health.note_success(arm)

    def _pass_on(self, call: _Call, arm: ModelChoice, asked: ModelRequest) -> ModelStream:
        call.begun = False
        with closing(self.gateway.open_model(arm).stream(asked)) as events:
            for event in events:
                call.begun = call.begun or not isinstance(event, StillWorking)
                if isinstance(event, RoundEnd) and arm != call.route.arms[0]:
                    yield replace(event, model=event.model or arm)
                else:
                    yield event

    def _require_another(
        self, call: _Call, arm: ModelChoice, failure: EquerryError, others: list[ModelChoice]
    ) -> None:
        """Note a failure, and raise it unless somebody may stand in; after partial output the arm itself may.

        Raises:
            EquerryError: the failure.
        """
        self._note(arm, failure)
        call.left -= failure.attempts if isinstance(failure, ModelUnavailable) else 1
        call.failure = failure
        left_s = call.deadline_s - self.gateway.clock.monotonic_s()
        unannounced = call.begun and not call.request.may_restart
        if unannounced or call.left < 1 or left_s < LEAST_USEFUL_S:
            raise failure
        if not others:
            if not call.begun or call.restarted:
                raise failure
            call.restarted = True
            call.waiting.append(arm)

    def _note(self, arm: ModelChoice, failure: EquerryError) -> None:
        if isinstance(failure, ModelUnavailable):
            throttled = failure.cause == "throttled"
            self.gateway.health.note_failure(
                arm,
                attempts=failure.attempts,
                cause=failure.cause,
                wish_s=failure.retry_after_s if throttled else None,
            )
        elif isinstance(failure, ModelUnusable):
            if isinstance(failure, ModelGone):
                self.gateway.watch.note_gone(arm)
            self.gateway.health.note_failure(arm, attempts=1, cause="unusable", at_once=True)

    def _announce(self, call: _Call, arm: ModelChoice) -> ModelStream:
        code = call.failure.code if call.failure else ""
        cause = getattr(call.failure, "cause", None)
        wanted = call.route.arms[0]
        logger.warning(
            "model_fallback",
            extra={
                "purpose": self.purpose,
                "wanted": f"{wanted.provider}/{wanted.model}",
                "provider": arm.provider,
                "model": arm.model,
                "code": code,
                "cause": cause,
                "discarded": call.begun,
            },
        )
        yield Restarted(model=arm, reason=code) if call.begun else StillWorking()

    def _describe_cooled(self, route: Route) -> EquerryError:
        """Nobody was asked: all are left alone."""
        coolings = [self.gateway.health.find_cooling(arm) for arm in route.arms]
        known = [cooling for cooling in coolings if cooling is not None]
        if known and all(cooling.cause == "unusable" for cooling in known):
            return ModelUnusable("no model that may answer here can be used; its key or its name is refused")
        now = self.gateway.clock.now()
        wait_s = min((max(1, round((cooling.until - now).total_seconds())) for cooling in known), default=5)
        return ModelUnavailable(
            "the models that answer here are failing and are left alone for a moment",
            retry_after_s=wait_s,
            cause="overloaded",
            attempts=0,
        )


def _share(left: int, others: list[ModelChoice], verdict: Verdict) -> int:
    """Attempts of one arm: its part of those left, and one alone for a model that is only being tried."""
    return 1 if verdict == "probe" and others else -(-left // (1 + len(others)))
