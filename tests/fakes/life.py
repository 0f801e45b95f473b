"""What ends the life of data, in memory: clocks, notes, proofs, statuses and stores that can fail."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from equerry.domain.retention import ErasureRequest, OffboardingClock, OrganisationStatus
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.ports.disposals import Disposal


@dataclass
class MemoryDisposalAdapter:
    """DisposalPort in memory."""

    noted: list[tuple[datetime, Disposal]] = field(default_factory=list)

    def note(self, at: datetime, disposal: Disposal) -> None:
        number = 1 + max((one.disposal_id for _, one in self.noted), default=0)
        self.noted.append((at, replace(disposal, disposal_id=number, due_at=at)))

    def list_due(
        self, *, now: datetime, limit: int, organisation_id: str | None = None, user_id: str | None = None
    ) -> tuple[Disposal, ...]:
        due = [
            one
            for at, one in self.noted
            if at <= now
            and one.kind != "organisation"
            and organisation_id in (None, one.organisation_id)
            and user_id in (None, one.user_id)
        ]
        ordered = sorted(due, key=lambda one: (one.organisation_id, one.user_id, one.disposal_id))
        return tuple(ordered[:limit])

    def forget_covered(self, organisation_id: str, *, now: datetime) -> None:
        self.noted = [
            (at, one)
            for at, one in self.noted
            if one.organisation_id != organisation_id or one.kind == "run" or at > now
        ]

    def finish(self, disposals: Sequence[Disposal]) -> None:
        done = {one.disposal_id for one in disposals}
        self.noted = [(at, one) for at, one in self.noted if one.disposal_id not in done]


@dataclass
class MemoryRemainsAdapter:
    """RemainsPort in memory: holds things by what they are of; `failures` is how often it does not answer."""

    held: dict[tuple[str, str], int] = field(default_factory=dict)
    failures: int = 0

    def hold(self, kind: str, subject: str, things: int = 1) -> None:
        self.held[kind, subject] = things

    def dispose(self, disposals: Sequence[Disposal]) -> int:
        if self.failures:
            self.failures -= 1
            raise Unavailable("the store does not answer")
        return sum(self.held.pop((one.kind, _subject(one)), 0) for one in disposals)


@dataclass
class MemoryCounterAdapter:
    """CounterPort in memory: when each counter is forgotten."""

    until: dict[str, datetime] = field(default_factory=dict)

    def delete_counters(self, *, now: datetime) -> int:
        old = [name for name, until in self.until.items() if until < now]
        for name in old:
            del self.until[name]
        return len(old)


def _subject(one: Disposal) -> str:
    match one.kind:
        case "person":
            return one.user_id
        case "organisation":
            return one.organisation_id
        case _:
            return one.thing_id


@dataclass
class MemoryOrganisationStatusAdapter:
    """OrganisationStatusPort in memory; `answers` come in turn (None: none at all), the last for ever."""

    answers: dict[str, list[OrganisationStatus | None]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def fetch_status(self, organisation_id: OrganisationId) -> OrganisationStatus:
        self.asked.append(organisation_id)
        given = self.answers.get(organisation_id, ["unknown"])
        status = given.pop(0) if len(given) > 1 else given[0]
        if status is None:
            raise Unavailable("the identity service does not answer")
        return status


@dataclass
class MemoryOffboardingAdapter:
    """OffboardingPort in memory; `rows` are an organisation's, by table, and go in that order."""

    disposals: MemoryDisposalAdapter
    rows: dict[str, dict[str, list[Mapping[str, object]]]] = field(default_factory=dict)
    clocks: dict[str, OffboardingClock] = field(default_factory=dict)
    proofs: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)

    def list_organisations(self) -> tuple[OrganisationId, ...]:
        left = {name for name, tables in self.rows.items() if any(tables.values())}
        return tuple(OrganisationId(name) for name in sorted(left | set(self.clocks)))

    def find_clock(self, organisation_id: OrganisationId) -> OffboardingClock | None:
        return self.clocks.get(organisation_id)

    def start_clock(self, organisation_id: OrganisationId, *, at: datetime) -> OffboardingClock:
        clock = OffboardingClock(first_disabled_at=at, purge_started_at=None)
        return self.clocks.setdefault(organisation_id, clock)

    def stop_clock(self, organisation_id: OrganisationId) -> bool:
        return self.clocks.pop(organisation_id, None) is not None

    def begin_purge(self, organisation_id: OrganisationId, *, at: datetime) -> None:
        clock = self.start_clock(organisation_id, at=at)
        self.clocks[organisation_id] = replace(clock, purge_started_at=clock.purge_started_at or at)

    def delete_rows(self, organisation_id: OrganisationId, *, limit: int) -> Mapping[str, int]:
        for table, rows in self.rows.get(organisation_id, {}).items():
            if batch := rows[:limit]:
                del rows[:limit]
                self._note(organisation_id, table, len(batch))
                return {table: len(batch)}
        return {}

    def _note(self, organisation_id: OrganisationId, table: str, gone: int) -> None:
        if table == "assistant_conversations":
            conversation = Disposal(
                disposal_id=0,
                kind="conversation",
                organisation_id=organisation_id,
                thing_id=f"{organisation_id}/c-1",
            )
            for _ in range(gone):
                self.disposals.note(datetime.min.replace(tzinfo=UTC), conversation)

    def complete_purge(
        self, organisation_id: OrganisationId, removed: Mapping[str, int], *, at: datetime
    ) -> None:
        self.proofs.append((organisation_id, dict(removed)))
        self.clocks.pop(organisation_id, None)

    def read_rows(self, organisation_id: OrganisationId) -> Iterator[tuple[str, Mapping[str, object]]]:
        for table, rows in self.rows.get(organisation_id, {}).items():
            for row in rows:
                yield table, row


@dataclass
class MemoryErasureAdapter:
    """ErasurePort in memory; `rows` are a person's, by table."""

    disposals: MemoryDisposalAdapter
    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    begun: dict[ErasureRequest, list[Mapping[str, int]]] = field(default_factory=dict)
    completed: set[ErasureRequest] = field(default_factory=set)

    def begin(self, request: ErasureRequest, *, at: datetime) -> None:
        self.begun.setdefault(request, [])
        self.completed.discard(request)

    def list_unfinished(self) -> tuple[ErasureRequest, ...]:
        return tuple(request for request in self.begun if request not in self.completed)

    def erase_rows(self, request: ErasureRequest, *, again_at: datetime) -> Mapping[str, int]:
        removed = self.rows.pop(request.user_id, {"assistant_conversations": 0})
        person = Disposal(disposal_id=0, kind="person", organisation_id="", user_id=request.user_id)
        if removed["assistant_conversations"]:
            conversation = replace(person, kind="conversation", organisation_id="acme", thing_id="c-1")
            self.disposals.note(datetime.min.replace(tzinfo=again_at.tzinfo), conversation)
        self.disposals.note(datetime.min.replace(tzinfo=again_at.tzinfo), person)
        self.begun[request].append(removed)
        return removed

    def complete(self, request: ErasureRequest, removed: Mapping[str, int], *, at: datetime) -> None:
        self.begun[request].append(dict(removed))
        self.completed.add(request)


@dataclass
class MemoryServiceTokenAdapter:
    """ServiceTokenPort in memory; without a token it has none to give."""

    token: str | None = "service-token"

    def fetch_token(self) -> str:
        if self.token is None:
            raise Unavailable("there is no token")
        return self.token


@dataclass
class MemoryExportAdapter:
    """ExportPort in memory; `refuses` makes it take none."""

    taken: dict[str, list[str]] = field(default_factory=dict)
    refuses: bool = False

    def deliver(self, organisation_id: OrganisationId, lines: Iterable[str]) -> str:
        if self.refuses:
            raise Unavailable("nobody takes the export")
        self.taken[organisation_id] = list(lines)
        return f"exports/{organisation_id}"
