"""Offboarding: what the product has disabled for long enough goes, once the product says so again."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from equerry.domain.redaction import redact_value
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Conflict, EquerryError, Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.kernel.kinds import result
from equerry.ports.metrics import MetricPort
from equerry.ports.offboarding import ExportPort, OffboardingPort, OrganisationStatusPort
from equerry.services.disposals import DisposalService

logger = logging.getLogger(__name__)

_BATCH = 500


class OrganisationNotDisabled(Conflict):
    """The product does not say that the organisation is disabled, so nothing of it may go."""

    code = "organisation_not_disabled"

    def __init__(self, status: str) -> None:
        super().__init__(f"the organisation is {status}; only a disabled one is purged")


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """What went, by table and store, and where the export is, if there was to be one."""

    organisation_id: OrganisationId
    removed: Mapping[str, int]
    export: str | None


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardingReport:
    """What became of the organisations; `undecided` could not be asked about or not be finished."""

    active: int = 0
    waiting: int = 0
    purged: int = 0
    untouched: int = 0
    undecided: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardingService:
    """Follows what the product says of organisations; only an explicit `disabled` ever purges one.

    Attributes:
        exports: who gets a redacted export ahead of a purge; None delivers none, unless one is asked for.
        exports_always: whether purges by the clock export too.
        time_s: how long one purge may take; the next run goes on where it stopped.
    """

    directory: OrganisationStatusPort
    organisations: OffboardingPort
    disposals: DisposalService
    metrics: MetricPort
    clock: Clock
    exports: ExportPort
    exports_always: bool
    after_days: int
    time_s: float

    def sweep(self) -> OffboardingReport:
        """Ask about every organisation that has anything left; one that fails does not keep others waiting.

        Raises:
            Unavailable: one or more could not be asked about or finished; all others were.
        """
        counted: Counter[str] = Counter()
        for organisation_id in self.organisations.list_organisations():
            try:
                counted[self._follow(organisation_id)] += 1
            except EquerryError:
                logger.exception("organisation_undecided", extra={"organisation_id": organisation_id})
                counted["undecided"] += 1
        report = OffboardingReport(**counted)
        logger.info("offboarding_swept", extra=dict(counted))
        if report.undecided:
            raise Unavailable(f"{report.undecided} organisations could not be decided on or finished")
        return report

    def handle_organisation_disabled(
        self, organisation_id: OrganisationId, *, export: bool | None = None
    ) -> PurgeReport:
        """Purge one organisation now, whatever its clock says; a second time removes nothing.

        Args:
            organisation_id: whose data is to go.
            export: whether to deliver an export first; the deployment's choice unless given.

        Raises:
            OrganisationNotDisabled: the product says anything else; nothing was removed.
            Unavailable: unknown what the product says, or a store did not answer; goes on with the next run.
        """
        self._require_disabled(organisation_id)
        wanted = self.exports_always if export is None else export
        place = self.exports.deliver(organisation_id, self._redact(organisation_id)) if wanted else None
        self._require_disabled(organisation_id)
        removed = self._purge(organisation_id)
        self.metrics.record({"OrgOffboardPurge": 1})
        logger.info("organisation_purged", extra={"organisation_id": organisation_id, "removed": removed})
        return PurgeReport(organisation_id=organisation_id, removed=removed, export=place)

    def _follow(self, organisation_id: OrganisationId) -> str:
        status = self.directory.fetch_status(organisation_id)
        if status == "active":
            self.organisations.stop_clock(organisation_id)
            return "active"
        if status != "disabled":
            return "untouched"
        now = self.clock.now()
        clock = self.organisations.start_clock(organisation_id, at=now)
        if not clock.is_due(now, after_days=self.after_days):
            return "waiting"
        self.handle_organisation_disabled(organisation_id)
        return "purged"

    def _purge(self, organisation_id: OrganisationId) -> Mapping[str, int]:
        deadline_s = self.clock.monotonic_s() + self.time_s
        self.organisations.begin_purge(organisation_id, at=self.clock.now())
        removed: Counter[str] = Counter()
        while batch := self.organisations.delete_rows(organisation_id, limit=_BATCH):
            removed.update(batch)
            if self.clock.monotonic_s() >= deadline_s:
                raise Unavailable("the purge is not finished; the next run goes on with it")
        removed.update(self.disposals.dispose_organisation(organisation_id))
        remains, finished = self.disposals.drain(
            time_s=deadline_s - self.clock.monotonic_s(), organisation_id=organisation_id
        )
        if not finished:
            raise Unavailable("the purge is not finished; the next run goes on with it")
        removed.update(remains)
        self.organisations.complete_purge(organisation_id, removed, at=self.clock.now())
        return dict(removed)

    def _require_disabled(self, organisation_id: OrganisationId) -> None:
        status = self.directory.fetch_status(organisation_id)
        if status != "disabled":
            raise OrganisationNotDisabled(status)

    def _redact(self, organisation_id: OrganisationId) -> Iterator[str]:
        for table, row in self.organisations.read_rows(organisation_id):
            said = redact_value({"table": table, "row": row})
            yield json.dumps(said, ensure_ascii=False, separators=(",", ":"))
