"""MetricPort as CloudWatch reads it out of a function's log: Embedded Metric Format, and no call."""

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from equerry.ports.metrics import MetricName, TurnShape

logger = logging.getLogger(__name__)

NAMESPACE = "Equerry"


def _write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")


@dataclass(frozen=True, slots=True)
class EmfMetricAdapter:
    """One line a record: under the stage alone, under it with profile and model, and under it with the shape.

    Attributes:
        write: takes one line, without its end.
    """

    stage: str
    write: Callable[[str], None] = _write_line

    def record(
        self,
        measures: Mapping[MetricName, float],
        *,
        profile: str | None = None,
        model: str | None = None,
        shape: TurnShape | None = None,
    ) -> None:
        """See MetricPort."""
        try:
            splits = ({"profile": profile, "model": model}, {"shape": shape})
            self.write(dumps(self._encode(measures, splits), allow_nan=False))
        except Exception:  # noqa: BLE001  # whatever is wrong with a measure, the turn it tells of goes on
            logger.warning("metric_not_recorded", extra={"metrics": sorted(measures)})

    def _encode(
        self, measures: Mapping[MetricName, float], splits: Sequence[Mapping[str, str | None]]
    ) -> Mapping[str, object]:
        # One a record: the library's own Metrics object is shared by the whole process. A blank service keeps
        # it from adding a dimension of its own.
        record = AmazonCloudWatchEMFProvider(namespace=NAMESPACE, service="")
        for name, amount in measures.items():
            record.add_metric(name=name, unit=_unit_of(name), value=amount)
        record.add_dimension(name="stage", value=self.stage)
        for split in splits:
            known = {name: text for name, text in split.items() if text}
            if known:
                record.add_dimensions(stage=self.stage, **known)
        encoded: Mapping[str, object] = {**record.serialize_metric_set()}
        return encoded


def _unit_of(name: MetricName) -> MetricUnit:
    if name.endswith("Ms"):
        return MetricUnit.Milliseconds
    return MetricUnit.Percent if name.endswith("Pct") else MetricUnit.Count
