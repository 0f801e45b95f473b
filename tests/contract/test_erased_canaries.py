"""A person with something in every store is erased, and a search of all stores finds nothing of them.

The stores are a real PostgreSQL, and DynamoDB and S3 as moto plays them; whatever is written, is written by
the adapters that write it in operation. The erasure is killed before and after each of its steps.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.artifacts import S3ArtifactStoreAdapter
from equerry.adapters.aws.bodies import S3RemainsAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.connections import DynamoConnectionAdapter
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.remains import DynamoRemainsAdapter, TurnTables
from equerry.adapters.aws.replay_log import DynamoReplayLogAdapter
from equerry.adapters.postgres.disposals import PostgresDisposalAdapter
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.erasure import PostgresErasureAdapter
from equerry.adapters.postgres.roles import PLATFORM
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.search import (
    PostgresLexicalIndexAdapter,
    PostgresPassageAdapter,
    PostgresVectorStoreAdapter,
)
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.channel.envelope import Envelope
from equerry.domain.admission import AdmissionRequest
from equerry.domain.conversations import Conversation, Run, RunEnd, TranscriptMessage
from equerry.domain.data_rules import list_rules
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Principal, Scope
from equerry.domain.retention import parse_erasure
from equerry.domain.submissions import Submission
from equerry.kernel.identifiers import ArtifactId, ConnectionId, ConversationId, MessageId, RunId
from equerry.kernel.usage import Usage
from equerry.ports.artifacts import ArtifactKey
from equerry.services.disposals import DisposalService
from equerry.services.erasure import ErasureReport, ErasureService

from local.postgres import EmbeddedPostgres
from tests.contract.aws_backends import create_table, new_identifier, new_name, start_aws
from tests.contract.corpora import Library, publish
from tests.contract.databases import Database, build_database, build_scope
from tests.contract.steps import build_step
from tests.fakes.clock import NOON, FixedClock
from tests.fakes.transcripts import let_begin

pytestmark = pytest.mark.postgres
PERSON = "canary-person"
CANARY = "canary-words"
HERS, ELSEWHERE = build_scope("acme", PERSON), build_scope("rival", PERSON)
BEN = build_scope("acme", "ben")
ADMIN = build_scope("acme", "root", role="admin")
REQUEST = parse_erasure(PERSON, "request-1")
PLENTY = TurnLimits(
    user_turns_per_minute=10_000, organisation_turns_per_minute=10_000, daily_tokens=1_000_000_000
)


class Killed(BaseException):
    """The process is gone; nothing of ours catches it."""


@dataclass
class Fate:
    """Kills at the nth call of any wrapped method, before or after it took effect."""

    kill_at: int = 0
    after: bool = False
    calls: int = 0

    def wrap(self, port: Any) -> Any:
        return _Mortal(port, self)

    def play(self, act: Callable[[], Any]) -> Any:
        self.calls += 1
        dies = self.calls == self.kill_at
        if dies and not self.after:
            raise Killed
        done = act()
        if dies:
            raise Killed
        return done


class _Mortal:
    def __init__(self, port: Any, fate: Fate) -> None:
        self._port, self._fate = port, fate

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        return lambda *args, **kwargs: self._fate.play(lambda: method(*args, **kwargs))


@dataclass
class Stores:
    """Every store there is, and who writes into it."""

    database: Database
    clients: AwsClients
    tables: TurnTables
    bucket: str
    clock: FixedClock = field(default_factory=FixedClock)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.runtime, self.platform = self.database.connect(), self.database.connect(PLATFORM)

    def close(self) -> None:
        self.runtime.close()
        self.platform.close()

    def erase(self, fate: Fate | None = None) -> ErasureReport:
        fate = fate or Fate()
        stores = {
            "items": fate.wrap(DynamoRemainsAdapter(self.clients.dynamodb, self.tables)),
            "objects": fate.wrap(S3RemainsAdapter(self.clients.s3, self.bucket)),
        }
        return ErasureService(
            erasures=fate.wrap(PostgresErasureAdapter(self.platform)),
            disposals=DisposalService(
                disposals=fate.wrap(PostgresDisposalAdapter(self.platform)), stores=stores, clock=self.clock
            ),
            clock=self.clock,
            time_s=600,
        ).erase(REQUEST)

    def live(self, scope: Scope, *, ended: bool = True) -> Run:
        """Have a turn, with everything that a turn leaves anywhere."""
        number = next(self.numbers)
        run = Run(
            run_id=RunId(f"00000000-0000-0000-0001-{number:012}"),
            conversation_id=ConversationId(f"00000000-0000-0000-0000-{number:012}"),
            user_message_id=MessageId(f"00000000-0000-0000-0002-{number:012}"),
            assistant_message_id=MessageId(f"00000000-0000-0000-0003-{number:012}"),
            profile="docs",
            mode="queued",
            mode_reason="default",
            created_at=NOON,
        )
        self._count(scope, run)
        self._converse(scope, run, ended=ended)
        self._listen(scope, run)
        key = ArtifactKey.of(scope, run.conversation_id, ArtifactId("body"))
        S3ArtifactStoreAdapter(self.clients.s3, self.bucket).store_artifact(key, CANARY.encode())
        return run

    def _count(self, scope: Scope, run: Run) -> None:
        DynamoAdmissionAdapter(
            self.clients.dynamodb,
            leases=self.tables.leases,
            usage=self.tables.usage,
            clock=self.clock,
            jitter=lambda: 0.0,
        ).admit(
            AdmissionRequest(
                scope=scope,
                conversation_id=run.conversation_id,
                run_id=run.run_id,
                now=NOON,
                until=NOON + timedelta(minutes=5),
                limits=PLENTY,
                submission=Submission(digest=run.run_id, fingerprint=CANARY),
            )
        )

    def _converse(self, scope: Scope, run: Run, *, ended: bool) -> None:
        transcripts = PostgresTranscriptAdapter(self.runtime)
        transcripts.create_conversation(
            scope,
            Conversation(
                conversation_id=run.conversation_id,
                profile="docs",
                title=CANARY,
                created_at=NOON,
                updated_at=NOON,
            ),
        )
        question = TranscriptMessage(
            message_id=run.user_message_id, role="user", text=CANARY, run_id=run.run_id, created_at=NOON
        )
        transcripts.append_turn(scope, run.conversation_id, let_begin(scope, run, question))
        place = (run.conversation_id, scope.organisation_id, scope.user_id, run.run_id)
        with self.runtime.transaction(scope) as rows:
            rows.execute(
                "INSERT INTO assistant_artifacts VALUES"
                " (gen_random_uuid(), %s, %s, %s, %s, 'table', %s, 1, now())",
                (*place, CANARY),
            )
            rows.execute(
                "INSERT INTO assistant_interactions VALUES"
                " (gen_random_uuid(), %s, %s, %s, %s, 'opened', jsonb_build_object('a', %s::text), now())",
                (*place, CANARY),
            )
        if ended:
            end = RunEnd(
                stop_reason="end_turn",
                usage=Usage(),
                last_seq=2,
                ended_at=NOON,
                text=CANARY,
                actions=(build_step(started_at=NOON, finished_at=NOON),),
            )
            PostgresRunAdapter(self.runtime).end_run(scope, run.run_id, end)

    def _listen(self, scope: Scope, run: Run) -> None:
        dynamodb = self.clients.dynamodb
        principal = Principal(scope=scope, expires_at=NOON + timedelta(hours=1), name=CANARY)
        connections = DynamoConnectionAdapter(dynamodb, self.tables.connections)
        connections.issue_ticket(run.run_id, principal, expires_at=NOON)
        connections.connect(ConnectionId(f"{scope.user_id}-{run.run_id}"), principal)
        connections.subscribe(
            ConnectionId(f"{scope.user_id}-{run.run_id}"),
            run.conversation_id,
            until=NOON + timedelta(hours=1),
        )
        DynamoInterruptAdapter(dynamodb, self.tables.run_flags, self.clock).request_interrupt(run.run_id)
        self.log(run, 1)

    def log(self, run: Run, seq: int) -> None:
        DynamoReplayLogAdapter(self.clients.dynamodb, self.tables.replay, new_identifier).append(
            Envelope(
                type="token",
                run_id=run.run_id,
                conversation_id=run.conversation_id,
                seq=seq,
                at=NOON,
                payload={"delta": CANARY},
                v=1,
            )
        )

    def draft(self, asked: Scope, conversation: Run) -> None:
        place = (conversation.conversation_id, asked.organisation_id, asked.user_id, conversation.run_id)
        with psycopg.connect(self.database.superuser_url) as session:
            session.execute(
                "INSERT INTO assistant_drafts"
                " (draft_id, conversation_id, organisation_id, created_by, run_id, source, operation,"
                " request, created_at, updated_at)"
                " VALUES (gen_random_uuid(), %s, %s, %s, %s, 'tool_call', 'op',"
                " jsonb_build_object('a', %s::text), now(), now())",
                (*place, CANARY),
            )

    def index(self, words: str, path: str, visible_to: tuple[str, ...]) -> None:
        library = Library(
            PostgresDocumentAdapter(self.runtime),
            PostgresVectorStoreAdapter(self.runtime),
            PostgresLexicalIndexAdapter(self.runtime),
            PostgresPassageAdapter(self.runtime),
        )
        document = publish(library, ADMIN, path, words, visible_to=visible_to)
        self.clients.s3.put_object(
            Bucket=self.bucket, Key=f"corpora/acme/handbook/{document}/sha", Body=words.encode()
        )

    def search(self, *canaries: str) -> list[str]:
        """Return everything in any store that holds one of the canaries, as text."""
        return [
            text
            for text in itertools.chain(self._rows(), self._items(), self._objects())
            if any(canary in text for canary in canaries)
        ]

    def _rows(self) -> Iterator[str]:
        with psycopg.connect(self.database.superuser_url) as session:
            tables = session.execute(
                "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')"
                " AND relnamespace = 'public'::regnamespace"
            ).fetchall()
            for (table,) in tables:
                rows = session.execute(f"SELECT to_jsonb({table})::text FROM {table}").fetchall()
                yield from (f"{table}: {row}" for (row,) in rows)

    def _items(self) -> Iterator[str]:
        for name in (
            self.tables.leases,
            self.tables.connections,
            self.tables.replay,
            self.tables.run_flags,
            self.tables.usage,
        ):
            for item in self.clients.dynamodb.scan(TableName=name)["Items"]:
                yield f"{name}: {item}"

    def _objects(self) -> Iterator[str]:
        page: Mapping[str, Any] = self.clients.s3.list_object_versions(Bucket=self.bucket)
        for version in page.get("Versions", []):
            body = self.clients.s3.get_object(
                Bucket=self.bucket, Key=version["Key"], VersionId=version["VersionId"]
            )["Body"]
            yield f"{version['Key']}: {body.read().decode()}"
        for marker in page.get("DeleteMarkers", []):
            yield str(marker["Key"])


@pytest.fixture(scope="module")
def stores(postgres: EmbeddedPostgres) -> Iterator[Stores]:
    with start_aws("moto") as clients:
        create = clients.dynamodb
        tables = TurnTables(
            leases=create_table(create, sort=None),
            connections=create_table(create, sort="S"),
            replay=create_table(create, sort="N"),
            run_flags=create_table(create, sort="S"),
            usage=create_table(create, sort="S"),
        )
        bucket = new_name()
        clients.s3.create_bucket(Bucket=bucket)
        clients.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        found = Stores(build_database(postgres), clients, tables, bucket)
        yield found
        found.close()


def populate(stores: Stores) -> list[Run]:
    """Give the person something everywhere, and Ben as much, without their words."""
    runs = [stores.live(HERS), stores.live(ELSEWHERE), stores.live(HERS, ended=False)]
    bens = stores.live(BEN)
    stores.draft(HERS, runs[0])
    stores.draft(HERS, bens)
    stores.draft(BEN, bens)
    stores.index(f"{CANARY} alone", "alone.md", (f"user:{PERSON}",))
    stores.index("ours", "ours.md", (f"user:{PERSON}", "user:ben"))
    return runs


def words_of(stores: Stores, *runs: Run) -> list[str]:
    names = [name for run in runs for name in (run.run_id, run.conversation_id)]
    return stores.search(PERSON, f"{CANARY} alone", *names)


@pytest.mark.req("A-ERASE-05", "A-ERASE-06", "A-ERASE-07", "A-ERASE-08", "A-ERASE-09", "R-46")
def test_a_search_of_all_stores_finds_nothing_of_an_erased_person(stores: Stores) -> None:
    runs = populate(stores)
    before = {text.partition(":")[0] for text in stores.search(PERSON)}
    personal = {rule.name for rule in list_rules("postgres") if rule.erased.startswith(("by_", "with_"))}
    assert personal | {stores.tables.leases, stores.tables.connections, stores.tables.usage} <= before

    first = stores.erase()
    stores.clock.advance(1201)  # the second look at what was under way
    second = stores.erase()

    assert words_of(stores, *runs) == []
    assert first.rows["assistant_drafts"] == 2
    assert min(first.remains.values()) > 0
    assert set(second.rows.values()) | set(second.remains.values()) == {0}
    assert any("'ORGANISATION'" in text for text in stores._items())
    assert len(stores.search('"created_by": "ben"')) >= 8
    assert stores.search("ours")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("kill_at", range(1, 12))
def test_an_erasure_killed_at_any_step_is_finished_by_the_next(
    stores: Stores, kill_at: int, after: bool
) -> None:
    runs = populate(stores)
    fate = Fate(kill_at=kill_at, after=after)
    try:
        stores.erase(fate)
    except Killed:
        assert fate.calls == kill_at

    stores.erase()
    stores.clock.advance(1201)
    stores.erase()

    assert words_of(stores, *runs) == []


def test_what_a_worker_writes_while_its_run_is_erased_goes_with_the_next_run(stores: Stores) -> None:
    (_, _, live) = populate(stores)
    stores.erase()

    stores.log(live, 2)
    S3ArtifactStoreAdapter(stores.clients.s3, stores.bucket).store_artifact(
        ArtifactKey.of(HERS, live.conversation_id, ArtifactId("late")), b"{}"
    )
    stores.clock.advance(1201)
    report = stores.erase()

    assert report.remains == {"items": 1, "objects": 1}
    assert words_of(stores, live) == []
