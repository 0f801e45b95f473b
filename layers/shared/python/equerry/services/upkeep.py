"""The scheduled run: every step is tried before any failure is told."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from equerry.kernel.errors import Unavailable
from equerry.services.erasure import ErasureService
from equerry.services.offboarding import OffboardingService
from equerry.services.retention import RetentionService

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepService:
    """Sweeps, goes on with erasures that died, and follows organisations' statuses."""

    retention: RetentionService
    erasures: ErasureService
    offboarding: OffboardingService

    def run(self) -> Mapping[str, object]:
        """Do all that is due; returns each step's report.

        Raises:
            Unavailable: a step failed, after all were tried; the log says which and why.
        """
        steps: dict[str, Callable[[], object]] = {
            "retention": lambda: asdict(self.retention.sweep()),
            "erasures": self.erasures.resume,
            "offboarding": lambda: asdict(self.offboarding.sweep()),
        }
        reports: dict[str, object] = {}
        failures: list[Exception] = []
        for name, step in steps.items():
            try:
                reports[name] = step()
            except Exception as failure:
                logger.exception("upkeep_step_failed", extra={"step": name})
                failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise Unavailable(f"{len(failures)} steps failed; the log says why") from failures[0]
        return reports
