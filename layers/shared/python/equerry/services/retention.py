"""The sweep: what is past its time goes, in bounded batches."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from equerry.domain.activity import RETENTION_DAYS
from equerry.kernel.clock import Clock
from equerry.kernel.kinds import result
from equerry.ports.metrics import MetricPort
from equerry.ports.retention import RetentionPort

logger = logging.getLogger(__name__)

BATCH = 500
"""Rows of one transaction: few enough that no lock is felt."""


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What one sweep removed; `finished` is False when its time ran out with more to remove."""

    conversations: int
    superseded_passages: int
    audit_rows: int
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionService:
    """Removes conversations nobody has touched, passages that newer versions replaced, and old audit rows.

    With a conversation go its messages, runs, records and steps; the audit and the usage have their own time.

    Attributes:
        audit_days: how long the audit and the usage are kept.
        time_s: how long one sweep may take; the next goes on where it stopped.
    """

    retention: RetentionPort
    metrics: MetricPort
    clock: Clock
    conversation_days: int
    superseded_days: int
    audit_days: int = RETENTION_DAYS
    time_s: float

    def sweep(self) -> SweepReport:
        """Remove what is past its time."""
        now, deadline_s = self.clock.now(), self.clock.monotonic_s() + self.time_s
        untouched = now - timedelta(days=self.conversation_days)
        superseded = now - timedelta(days=self.superseded_days)
        conversations, all_conversations = self._drain(
            lambda: self.retention.delete_conversations(unchanged_since=untouched, limit=BATCH), deadline_s
        )
        passages, all_passages = self._drain(
            lambda: self.retention.delete_superseded_passages(superseded_before=superseded, limit=BATCH),
            deadline_s,
        )
        accounted = now - timedelta(days=self.audit_days)
        audit_rows, all_audited = self._drain(
            lambda: self.retention.delete_audit(older_than=accounted, limit=BATCH), deadline_s
        )
        report = SweepReport(
            conversations=conversations,
            superseded_passages=passages,
            audit_rows=audit_rows,
            finished=all_conversations and all_passages and all_audited,
        )
        self.metrics.record({"RetentionPurged": conversations + passages + audit_rows})
        logger.info(
            "retention_swept",
            extra={
                "conversations": conversations,
                "superseded_passages": passages,
                "audit_rows": audit_rows,
                "finished": report.finished,
            },
        )
        return report

    def _drain(self, delete_batch: Callable[[], int], deadline_s: float) -> tuple[int, bool]:
        removed = 0
        while self.clock.monotonic_s() < deadline_s:
            batch = delete_batch()
            removed += batch
            if batch < BATCH:
                return removed, True
        return removed, False
