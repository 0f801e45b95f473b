"""What most questions do without: wired, and loaded, when one first needs it.

These imports stand inside functions on purpose: together they are half of what a cold start would load.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from equerry.ports.interrupts import InterruptPort
from equerry.runtime.settings import HttpSettings
from equerry.runtime.tracing import find_trace_id
from equerry.runtime.turn_parts import TurnParts

if TYPE_CHECKING:
    from equerry.domain.conversations import Run
    from equerry.domain.intents import Classification
    from equerry.domain.leases import Lease
    from equerry.domain.profiles import Profile
    from equerry.runtime.delivery_parts import DeliveryParts
    from equerry.services.fast_answers import FastAnswerService
    from equerry.services.recovery import RecoveryService
    from equerry.services.turns import TurnService
    from equerry.surfaces.http.routing import Route


class LateParts:
    """The settlement and the fast answers of the HTTP function, and all its routes."""

    def __init__(self, settings: HttpSettings, parts: TurnParts, interrupts: InterruptPort) -> None:
        self._settings = settings
        self._parts = parts
        self.interrupts = interrupts

    def settle(self, lease: "Lease") -> bool:
        """See Settlement."""
        return self.recovery.settle(lease)

    def end_unclaimed(self, run: "Run") -> bool:
        """See Settlement."""
        return self.recovery.end_unclaimed(run)

    def answer(self, run: "Run", profile: "Profile", taken: "Classification") -> bool:
        """See FastAnswers."""
        return self._answers.answer(run, profile, taken)

    def list_routes(self, turns: "TurnService") -> tuple["Route", ...]:
        """Return every route of the API, that of `turns` among them."""
        from equerry.runtime.http_services import build_services, describe_deployment
        from equerry.surfaces.http.registry import build_routes

        services = build_services(self._settings, self._deliveries, turns, self.recovery)
        return build_routes(services, describe_deployment(self._settings))

    @cached_property
    def recovery(self) -> "RecoveryService":
        """What settles the runs that nobody ends any more."""
        return self._deliveries.build_recovery(self.interrupts, self._parts.build_admissions(self._settings))

    @cached_property
    def _deliveries(self) -> "DeliveryParts":
        from equerry.runtime.delivery_parts import build_delivery_parts

        return build_delivery_parts(self._settings, self._parts)

    @cached_property
    def _answers(self) -> "FastAnswerService":
        from equerry.services.fast_answers import FastAnswerService

        return FastAnswerService(
            runs=self._parts.kept_runs,
            leases=self._parts.leases,
            endings=self._deliveries.build_endings(self._parts.build_admissions(self._settings)),
            clock=self._parts.clock,
            find_trace_id=find_trace_id,
        )
