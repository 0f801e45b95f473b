"""How long a sweep of a large tenant takes, and what somebody who writes meanwhile feels of it.

    python -m bench.retention [MESSAGES]      1,000,000 by default

A tenant's conversations of twenty messages and ten runs each are past their time, but for a thousand. They
are swept as the scheduled function does it, while one writer goes on with young conversations and
another with old.
"""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.disposals import PostgresDisposalAdapter
from equerry.adapters.postgres.retention import PostgresRetentionAdapter
from equerry.domain.principal import Scope
from equerry.domain.retention import RetentionWindows
from equerry.kernel.identifiers import OrganisationId, UserId
from equerry.runtime.clock import SystemClock
from equerry.services.disposals import DisposalService
from equerry.services.retention import RetentionService

from bench.databases import open_database

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGES_EACH = 20
YOUNG = 1000
PEOPLE = 200
PAUSE_S = 0.02
FILL = (
    "SET session_replication_role = replica",  # the keys are right by construction
    """INSERT INTO assistant_conversations
        (conversation_id, organisation_id, created_by, profile, title, created_at, updated_at)
    SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'big', 'person-' || n % {people},
        'docs', 'A conversation', now() - interval '500 days',
        CASE WHEN n > {old} THEN now() ELSE now() - interval '400 days' - n * interval '1 second' END
    FROM generate_series(1, {conversations}) AS n""",
    """INSERT INTO assistant_messages
        (message_id, conversation_id, organisation_id, created_by, run_id, role, content, created_at)
    SELECT gen_random_uuid(), c.conversation_id, c.organisation_id, c.created_by, gen_random_uuid(),
        CASE WHEN m % 2 = 0 THEN 'user' ELSE 'assistant' END, repeat('What somebody said. ', 20), c.created_at
    FROM assistant_conversations AS c, generate_series(1, {each}) AS m""",
    """INSERT INTO assistant_runs
        (run_id, conversation_id, organisation_id, created_by, user_message_id, assistant_message_id, profile,
         mode, mode_reason, status, stop_reason, created_at)
    SELECT gen_random_uuid(), c.conversation_id, c.organisation_id, c.created_by, gen_random_uuid(),
        gen_random_uuid(), 'docs', 'queued', 'default', 'ended', 'end_turn', c.created_at
    FROM assistant_conversations AS c, generate_series(1, {each} / 2) AS m""",
    "SET session_replication_role = origin",
    "ANALYZE assistant_conversations, assistant_messages, assistant_runs",
)


@dataclass
class Timed:
    """Passes calls on and keeps how long each took, in seconds."""

    port: Any
    taken: list[float] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.port, name)

        def call(*args: Any, **options: Any) -> Any:
            with measure(self.taken):
                return method(*args, **options)

        return call


@dataclass
class Writer:
    """Touches conversations one after another, as turns do, and keeps how long each write took."""

    connections: PostgresConnections
    first: int
    last: int
    taken: list[float] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        number = self.first
        while not self.over.is_set():
            scope = Scope(
                organisation_id=OrganisationId("big"),
                user_id=UserId(f"person-{number % PEOPLE}"),
                role="member",
            )
            with measure(self.taken), self.connections.transaction(scope) as rows:
                rows.execute(
                    "UPDATE assistant_conversations SET title = title WHERE conversation_id = %s",
                    (f"00000000-0000-4000-8000-{number:012}",),
                )
            number = self.first if number == self.last else number + 1
            time.sleep(PAUSE_S)


class NoCounters:
    """Counters are another store's."""

    def delete_counters(self, **_: Any) -> int:
        """Remove nothing."""
        return 0


@contextmanager
def measure(taken: list[float]) -> "Iterator[None]":
    """Note how long the block took."""
    begun = time.perf_counter()
    yield
    taken.append(time.perf_counter() - begun)


def main(messages: int) -> None:
    """Fill, sweep, print."""
    conversations = messages // MESSAGES_EACH
    sizes = {
        "people": PEOPLE,
        "conversations": conversations,
        "old": conversations - YOUNG,
        "each": MESSAGES_EACH,
    }
    with open_database() as database:
        with psycopg.connect(database.superuser_url, autocommit=True) as session:
            for statement in FILL:
                session.execute(statement.format(**sizes))
        young = Writer(database.connections, conversations - YOUNG + 1, conversations)
        old = Writer(database.connections, 1, conversations - YOUNG)
        threads = [threading.Thread(target=writer.run, daemon=True) for writer in (young, old)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        alone = [list(writer.taken) for writer in (young, old)]
        timed = Timed(PostgresRetentionAdapter(database.platform))
        begun = time.perf_counter()
        report = sweep(timed, PostgresDisposalAdapter(database.platform))
        total_s = time.perf_counter() - begun
        for writer in (young, old):
            writer.over.set()
        for thread in threads:
            thread.join()
    print(f"{messages:,} messages and {messages // 2:,} runs in {conversations:,} conversations")
    print(f"swept {report.conversations:,} conversations in {total_s:.0f} s, finished: {report.finished}")
    show("transactions of the sweep", timed.taken)
    for name, writer, before in zip(("young", "old"), (young, old), alone, strict=True):
        show(f"a writer to {name} conversations, before", before)
        show(f"a writer to {name} conversations, meanwhile", writer.taken[len(before) :])


def sweep(retention: Any, disposals: PostgresDisposalAdapter) -> Any:
    """Sweep as the scheduled function does, with no other store to go on to."""
    clock = SystemClock()
    return RetentionService(
        retention=retention,
        counters=NoCounters(),
        disposals=DisposalService(disposals=disposals, stores={}, clock=clock),
        metrics=_Silent(),
        clock=clock,
        windows=RetentionWindows(),
        time_s=timedelta(hours=1).total_seconds(),
    ).sweep()


class _Silent:
    def record(self, measures: object, **_: object) -> None:
        """Keep nothing."""


def show(what: str, taken: list[float]) -> None:
    """Print how many there were and how long they took."""
    ordered = sorted(taken)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    print(
        f"{what:46} {len(ordered):6}  p50 {middle * 1000:7.1f} ms  p99 {late * 1000:7.1f} ms"
        f"  longest {ordered[-1] * 1000:7.1f} ms"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
