"""The sweep: what is past its time goes, in bounded batches."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import chain

from equerry.domain.retention import RetentionWindows, Shortening
from equerry.kernel.clock import Clock
from equerry.kernel.errors import EquerryError
from equerry.kernel.identifiers import OrganisationId
from equerry.kernel.kinds import result
from equerry.ports.metrics import MetricPort
from equerry.ports.retention import CounterPort, RetentionPort
from equerry.services.disposals import DisposalService

logger = logging.getLogger(__name__)

BATCH = 500
"""Rows of one transaction: few enough that no lock is felt."""
CONVERSATIONS_BATCH = 100
"""Fewer, as everything said in a conversation goes with it."""
_Step = tuple[str, Callable[[], int], int]


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What one sweep removed; `finished` is False when its time ran out with more to remove.

    `remains` counts what went from other stores, by store.
    """

    conversations: int = 0
    superseded_passages: int = 0
    withdrawn_documents: int = 0
    audit_rows: int = 0
    counters: int = 0
    remains: Mapping[str, int]
    finished: bool

    @property
    def removed(self) -> int:
        """What its windows removed, remains aside."""
        return (
            self.conversations
            + self.superseded_passages
            + self.withdrawn_documents
            + self.audit_rows
            + self.counters
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionService:
    """Removes conversations nobody has touched, what newer versions replaced, old audit rows and counters.

    With a conversation go its messages, runs, records, steps and bodies; the audit and the usage have their
    own time. An organisation may keep its own for less time than the platform, never for longer.

    Attributes:
        time_s: how long one sweep may take; the next goes on where it stopped.
    """

    retention: RetentionPort
    counters: CounterPort
    disposals: DisposalService
    metrics: MetricPort
    clock: Clock
    windows: RetentionWindows
    time_s: float

    def sweep(self, organisation_id: OrganisationId | None = None) -> SweepReport:
        """Remove what is past its time; of one organisation alone, if it is named.

        Raises:
            EquerryError: a kind could not be removed; all others were, as far as time went.
        """
        deadline_s = self.clock.monotonic_s() + self.time_s
        removed: Counter[str] = Counter()
        failures: list[EquerryError] = []
        finished = True
        for name, delete_batch, size in self._list_steps(organisation_id):
            try:
                batches, ended = self._drain(delete_batch, size, deadline_s)
            except EquerryError as failure:
                logger.exception("sweep_step_failed", extra={"step": name})
                failures.append(failure)
                continue
            removed[name] += batches
            finished = finished and ended
        if organisation_id is None and finished:
            removed["counters"] = self.counters.delete_counters(now=self.clock.now())
        left_s = deadline_s - self.clock.monotonic_s()
        remains, disposed = self.disposals.drain(time_s=left_s)
        report = SweepReport(**removed, remains=remains, finished=finished and disposed and not failures)
        self.metrics.record({"RetentionPurged": report.removed})
        logger.info("retention_swept", extra=asdict(report))
        if failures:
            raise failures[0]
        return report

    def _list_steps(self, organisation_id: OrganisationId | None) -> Iterator[_Step]:
        """Give every deletion: the platform's windows, then those of organisations that have shorter ones."""
        now = self.clock.now()
        shortened = [
            one for one in self.retention.list_shortenings() if organisation_id in (None, one.organisation_id)
        ]
        own = (
            step
            for one in shortened
            for step in self._list_windows(self._shorten(one), one.organisation_id, now)[:2]
        )
        return chain(self._list_windows(self.windows, organisation_id, now), own)

    def _shorten(self, own: Shortening) -> RetentionWindows:
        platform = self.windows
        return RetentionWindows(
            conversation_days=min(
                own.conversation_days or platform.conversation_days, platform.conversation_days
            ),
            action_days=min(own.action_days or platform.action_days, platform.action_days),
            superseded_days=platform.superseded_days,
            purge_after_days=platform.purge_after_days,
        )

    def _list_windows(
        self, windows: RetentionWindows, organisation_id: OrganisationId | None, now: datetime
    ) -> list[_Step]:
        store = self.retention
        untouched = now - timedelta(days=windows.conversation_days)
        accounted = now - timedelta(days=windows.action_days)
        replaced = now - timedelta(days=windows.superseded_days)
        return [
            (
                "conversations",
                lambda: store.delete_conversations(
                    unchanged_since=untouched, limit=CONVERSATIONS_BATCH, organisation_id=organisation_id
                ),
                CONVERSATIONS_BATCH,
            ),
            (
                "audit_rows",
                lambda: store.delete_audit(
                    older_than=accounted, limit=BATCH, organisation_id=organisation_id
                ),
                BATCH,
            ),
            (
                "superseded_passages",
                lambda: store.delete_superseded_passages(
                    superseded_before=replaced, limit=BATCH, organisation_id=organisation_id
                ),
                BATCH,
            ),
            (
                "withdrawn_documents",
                lambda: store.delete_withdrawn_documents(
                    withdrawn_before=replaced, limit=BATCH, organisation_id=organisation_id
                ),
                BATCH,
            ),
        ]

    def _drain(self, delete_batch: Callable[[], int], size: int, deadline_s: float) -> tuple[int, bool]:
        removed = 0
        while self.clock.monotonic_s() < deadline_s:
            batch = delete_batch()
            removed += batch
            if batch < size:
                return removed, True
        return removed, False
