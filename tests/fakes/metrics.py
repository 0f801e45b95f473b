"""Metrics, in memory."""

import threading
from collections.abc import Mapping

from equerry.ports.metrics import MetricName, TurnShape


class MemoryMetricAdapter:
    """MetricPort over a list; `records` in order with profile and model, `shapes` beside them."""

    def __init__(self) -> None:
        self.records: list[tuple[dict[MetricName, float], str | None, str | None]] = []
        self.shapes: list[TurnShape | None] = []
        self._lock = threading.Lock()

    def record(
        self,
        measures: Mapping[MetricName, float],
        *,
        profile: str | None = None,
        model: str | None = None,
        shape: TurnShape | None = None,
    ) -> None:
        with self._lock:
            self.records.append((dict(measures), profile, model))
            self.shapes.append(shape)

    def list_amounts(self, name: MetricName) -> list[float]:
        """Return every amount recorded under a name, in order."""
        return [measures[name] for measures, _, _ in self.records if name in measures]
