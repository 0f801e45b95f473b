"""Metrics, in memory."""

import threading
from collections.abc import Mapping

from equerry.ports.metrics import MetricName


class MemoryMetricAdapter:
    """MetricPort over a list; `records` in order, each with what it was split by."""

    def __init__(self) -> None:
        self.records: list[tuple[dict[MetricName, float], str | None, str | None]] = []
        self._lock = threading.Lock()

    def record(
        self, measures: Mapping[MetricName, float], *, profile: str | None = None, model: str | None = None
    ) -> None:
        with self._lock:
            self.records.append((dict(measures), profile, model))

    def list_amounts(self, name: MetricName) -> list[float]:
        """Return every amount recorded under a name, in order."""
        return [measures[name] for measures, _, _ in self.records if name in measures]
