"""What the database keeps of runs beside the runs: their steps, records, usage and audit."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from equerry.domain.activity import ActivityRow
from equerry.domain.conversations import Run, RunEnd
from equerry.domain.records import RunRecord, UsageRecord
from equerry.domain.steps import ToolStep
from equerry.kernel.identifiers import RunId, UserId

Owner = tuple[str, str]


@dataclass
class MemoryRunKeeping:
    """The tables, and what one statement does to them."""

    steps: dict[RunId, dict[int, ToolStep]] = field(default_factory=dict)
    records: dict[RunId, RunRecord] = field(default_factory=dict)
    usages: dict[RunId, tuple[Owner, UsageRecord, datetime]] = field(default_factory=dict)
    audit: dict[tuple[RunId, int], tuple[str, ActivityRow]] = field(default_factory=dict)

    def add_audit(self, organisation: str, row: ActivityRow) -> None:
        self.audit.setdefault((row.run_id, row.position), (organisation, row))

    def list_audit(self, run_id: RunId) -> tuple[ActivityRow, ...]:
        """Return a run's rows in the order of their places."""
        return tuple(row for (run, _), (_, row) in sorted(self.audit.items()) if run == run_id)

    def begin_record(self, owner: Owner, run: Run, surface: str) -> RunRecord:
        """Return the run's record, made if there is none."""
        return self.records.setdefault(
            run.run_id,
            RunRecord(
                run_id=run.run_id,
                conversation_id=run.conversation_id,
                user_id=UserId(owner[1]),
                profile=run.profile,
                surface=surface,
                mode=run.mode,
                mode_reason=run.mode_reason,
                status="queued",
                trace_id=None,
                attempts=0,
                created_at=run.created_at,
                started_at=None,
                first_text_at=None,
                ended_at=None,
                stop_reason=None,
                error_code=None,
                composition={},
                outcome={},
                deliveries=None,
                steps=(),
                usage=None,
            ),
        )

    def merge_step(self, owner: Owner, run: Run, step: ToolStep) -> None:
        kept = self.steps.setdefault(run.run_id, {})
        before = kept.get(step.position)
        if before is not None and before.finished_at is not None:
            return
        model_id = step.model_id or (run.model.model if run.model else None)
        begun = before or replace(step, model_id=model_id)
        kept[step.position] = replace(
            begun,
            finished_at=step.finished_at,
            duration_ms=step.duration_ms,
            ok=step.ok,
            failure=step.failure,
            text=step.text,
            facts=step.facts,
            account=step.account,
        )
        if step.finished_at is not None:
            self.add_audit(owner[0], _audit(owner, run, kept[step.position], step.finished_at))

    def audit_unreported(self, owner: Owner, run: Run, at: datetime) -> None:
        for step in self.steps.get(run.run_id, {}).values():
            if step.finished_at is None:
                self.add_audit(owner[0], _audit(owner, run, step, at))

    def end_record(self, owner: Owner, run: Run, end: RunEnd, surface: str) -> None:
        """`run` is the ended one."""
        record = self.begin_record(owner, run, surface)
        self.records[run.run_id] = replace(
            record,
            status="ended",
            outcome=dict(end.outcome),
            stop_reason=end.stop_reason,
            error_code=end.error_code,
            started_at=run.started_at,
            first_text_at=end.first_text_at,
            ended_at=end.ended_at,
        )
        steps = self.steps.get(run.run_id, {}).values()
        used = UsageRecord(
            task_class=str(record.composition.get("taskClass", "chat")),
            model=run.model,
            usage=end.usage,
            complete=end.complete,
            cost_usd=end.cost.usd if end.cost else None,
            priced_on=end.cost.priced_on if end.cost else None,
            tool_calls=len(steps),
            passages=sum(_amount(step, "passages") for step in steps),
            characters=sum(_amount(step, "characters") for step in steps),
        )
        self.usages.setdefault(run.run_id, (owner, used, end.ended_at))


def _amount(step: ToolStep, name: str) -> int:
    amount = step.facts.get(name)
    return amount if isinstance(amount, int) else 0


def _audit(owner: Owner, run: Run, step: ToolStep, at: datetime) -> ActivityRow:
    return ActivityRow(
        run_id=run.run_id,
        call_id=step.call_id,
        position=step.position,
        user_id=UserId(owner[1]),
        tool=step.tool,
        arguments=step.arguments,
        outcome=step.outcome,
        result=step.facts,
        duration_ms=step.duration_ms,
        at=at,
    )
