"""Models that are left alone for a while, known to this process alone."""

import threading
from dataclasses import replace
from datetime import datetime

from equerry.domain.breaker import Cooling
from equerry.engine.model import ModelChoice


class ProcessProviderHealthAdapter:
    """ProviderHealthPort for a function that may hold nothing shared."""

    def __init__(self) -> None:
        self._cooled: dict[ModelChoice, Cooling] = {}
        self._lock = threading.Lock()

    def list_cooled(self) -> tuple[Cooling, ...]:
        """Keep ProviderHealthPort's promise."""
        with self._lock:
            return tuple(self._cooled.values())

    def cool(self, cooling: Cooling) -> None:
        """Keep ProviderHealthPort's promise."""
        with self._lock:
            known = self._cooled.get(cooling.choice)
            if known is None or known.until <= cooling.until:
                self._cooled[cooling.choice] = cooling

    def claim_probe(self, cooling: Cooling, *, until: datetime) -> bool:
        """Keep ProviderHealthPort's promise."""
        with self._lock:
            known = self._cooled.get(cooling.choice)
            if known is None or known.until != cooling.until:
                return False
            self._cooled[cooling.choice] = replace(known, until=until)
            return True

    def clear(self, choice: ModelChoice) -> None:
        """Keep ProviderHealthPort's promise."""
        with self._lock:
            self._cooled.pop(choice, None)
