"""Tells operators of models that their providers take away, before that and when it has happened."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from equerry.domain.retirements import Retirements
from equerry.engine.model import ModelChoice
from equerry.kernel.clock import Clock
from equerry.ports.metrics import MetricName, MetricPort

logger = logging.getLogger(__name__)

TOLD_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWatchService:
    """Counts for the alarms and writes to the log; it stops nothing."""

    clock: Clock
    retirements: Retirements = field(default_factory=Retirements)
    metrics: MetricPort | None = None
    _told_s: dict[ModelChoice, float] = field(default_factory=dict)

    def look(self, models: Iterable[ModelChoice]) -> None:
        """Tell of those whose end is near, each once an hour in this process."""
        now_s = self.clock.monotonic_s()
        for model in models:
            told_s = self._told_s.get(model)
            if told_s is not None and now_s - told_s < TOLD_EVERY_S:
                continue
            self._told_s[model] = now_s
            left = self.retirements.find_days_left(model, self.clock.now().date())
            if left is not None:
                self._record({"ModelRetiring": 1})
                where = {"provider": model.provider, "model": model.model}
                logger.warning("model_retiring", extra={**where, "days_left": left})

    def note_gone(self, model: ModelChoice) -> None:
        """Its provider says that there is no such model."""
        self._record({"ModelGone": 1})
        logger.error("model_gone", extra={"provider": model.provider, "model": model.model})

    def _record(self, measures: Mapping[MetricName, float]) -> None:
        if self.metrics is not None:
            self.metrics.record(measures)
