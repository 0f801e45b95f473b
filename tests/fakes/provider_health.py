"""Cooled models in memory; can be told to be down."""

from dataclasses import replace
from datetime import datetime

from equerry.domain.breaker import Cooling
from equerry.engine.model import ModelChoice
from equerry.kernel.errors import Unavailable


class MemoryProviderHealthAdapter:
    """ProviderHealthPort over a dictionary; `asked` counts the calls, `down` makes each fail."""

    def __init__(self) -> None:
        self.cooled: dict[ModelChoice, Cooling] = {}
        self.asked = 0
        self.down = False

    def list_cooled(self) -> tuple[Cooling, ...]:
        self._answer()
        return tuple(self.cooled.values())

    def cool(self, cooling: Cooling) -> None:
        self._answer()
        known = self.cooled.get(cooling.choice)
        if known is None or known.until <= cooling.until:
            self.cooled[cooling.choice] = cooling

    def claim_probe(self, cooling: Cooling, *, until: datetime) -> bool:
        self._answer()
        if self.cooled.get(cooling.choice) != cooling:
            return False
        self.cooled[cooling.choice] = replace(cooling, until=until)
        return True

    def clear(self, choice: ModelChoice) -> None:
        self._answer()
        self.cooled.pop(choice, None)

    def _answer(self) -> None:
        self.asked += 1
        if self.down:
            raise Unavailable("the store of health is down")
