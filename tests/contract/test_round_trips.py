"""What accepting a turn asks of the stores, with the adapters that ask them, and which of it is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.leases import DynamoLeaseAdapter
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.runs import PostgresRunAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter
from equerry.adapters.postgres.transcripts import PostgresTranscriptAdapter
from equerry.domain.conversations import Conversation
from equerry.domain.fast_path import FastPath
from equerry.domain.leases import TurnInProgress
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.rates import RateLimited
from equerry.domain.tenancy import Tenancy
from equerry.kernel.errors import EquerryError, NotFound
from equerry.kernel.identifiers import ConversationId, CorpusId
from equerry.services.admission import AdmissionService
from equerry.services.intents import WordIntentService
from equerry.services.stopping import StoppingService
from equerry.services.turns import TurnService

from tests.contract.aws_backends import create_table, new_identifier, new_name, start_aws
from tests.contract.databases import Database, build_scope, new_organisation
from tests.fakes.catalogues import MemoryCatalogueAdapter
from tests.fakes.profiles import MemoryProfileAdapter
from tests.unit.services.world import PROFILE, World

if TYPE_CHECKING:
    from equerry.adapters.postgres.connections import Rows

pytestmark = pytest.mark.postgres
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "SendMessage")


@dataclass
class Entry:
    """An entry point over moto and PostgreSQL, and what it asked since `forget`."""

    turns: TurnService
    transcripts: PostgresTranscriptAdapter
    world: World
    calls: list[str] = field(default_factory=list)
    transactions: list[list[str]] = field(default_factory=list)

    def open(self, scope: Scope) -> ConversationId:
        now = self.world.clock.now()
        conversation = Conversation(
            conversation_id=ConversationId(new_identifier()),
            profile="docs",
            title="t",
            created_at=now,
            updated_at=now,
        )
        self.transcripts.create_conversation(scope, conversation)
        self.forget()
        return conversation.conversation_id

    def forget(self) -> None:
        self.calls.clear()
        self.transactions.clear()

    @property
    def statements(self) -> list[str]:
        return [statement for statements in self.transactions for statement in statements]


class NotedRows:
    """A cursor whose statements are noted by their first word."""

    def __init__(self, rows: "Rows", statements: list[str]) -> None:
        self._rows, self._statements = rows, statements

    def execute(self, query: str, *given: Any) -> Any:
        self._statements.append(query.split()[0])
        return self._rows.execute(query, *given)

    def __iter__(self) -> Any:
        return iter(self._rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


class CountedConnections(PostgresConnections):
    """Notes the statements of each transaction, the settings at its beginning left out."""

    seen: list[list[str]]

    @contextmanager
    def transaction(self, scope: Scope, **how: Any) -> "Iterator[Rows]":
        with super().transaction(scope, **how) as rows:
            statements: list[str] = []
            self.seen.append(statements)
            yield cast("Rows", NotedRows(rows, statements))


@pytest.fixture
def entry(database: Database) -> Iterator[Entry]:
    connections = CountedConnections(lambda: database.address("equerry_runtime"))
    with start_aws("moto") as clients:
        built = _build(clients, connections)
        connections.seen = built.transactions

        def note(model: Any, **_: Any) -> None:
            built.calls.append(model.name)

        for client in (clients.dynamodb, clients.sqs):
            client.meta.events.register("before-parameter-build", note)
        yield built
        for client in (clients.dynamodb, clients.sqs):
            client.meta.events.unregister("before-parameter-build", note)
    connections.close()


def _build(clients: AwsClients, connections: PostgresConnections) -> Entry:
    world = World(limits=TurnLimits())
    dynamo = clients.dynamodb
    table = create_table(dynamo, sort=None)
    leases = DynamoLeaseAdapter(dynamo, table, new_identifier)
    admissions = DynamoAdmissionAdapter(
        dynamo, leases=table, usage=create_table(dynamo, sort="S"), clock=world.clock, jitter=lambda: 0.5
    )
    interrupts = DynamoInterruptAdapter(dynamo, create_table(dynamo, sort="S"), world.clock)
    url = clients.sqs.create_queue(QueueName=f"{new_name()}.fifo", Attributes={"FifoQueue": "true"})[
        "QueueUrl"
    ]
    transcripts, runs = PostgresTranscriptAdapter(connections), PostgresRunAdapter(connections)
    guard = AdmissionService(
        admissions=admissions,
        leases=leases,
        runs=runs,
        recovery=world.recovery,
        interrupts=interrupts,
        limits=TurnLimits(user_turns_per_minute=2),
        metrics=world.metrics,
        clock=world.clock,
    )
    turns = TurnService(
        transcripts=transcripts,
        profiles=world.profiles,
        queue=SqsQueueAdapter(clients.sqs, url),
        switch=world.switch,
        guard=guard,
        stops=StoppingService(runs=runs, leases=leases, interrupts=interrupts, recovery=world.recovery),
        unlisted=Tenancy(),
        clock=world.clock,
        new_id=new_identifier,
    )
    return Entry(turns=turns, transcripts=transcripts, world=world)


def test_an_accepted_turn_takes_three_calls_of_aws_and_one_transaction(entry: Entry) -> None:
    ada = build_scope(new_organisation())
    conversation = entry.open(ada)

    entry.turns.submit(ada, conversation, "Well?", key="k-1")

    assert entry.calls == ["BatchGetItem", "TransactWriteItems", "SendMessage"]
    assert len(entry.transactions) == 1
    # What it is judged by; the conversation touched; its run; its question.
    assert (entry.statements[0], len(entry.statements)) == ("SELECT", 4)


@pytest.mark.req("F-ABUSE-02")
def test_a_refused_turn_writes_nowhere(entry: Entry) -> None:
    ada, eve = build_scope(new_organisation()), build_scope(new_organisation())
    first, second, third = entry.open(ada), entry.open(ada), entry.open(ada)
    entry.turns.submit(ada, first, "Well?")
    entry.forget()

    with pytest.raises(NotFound):
        entry.turns.submit(eve, second, "Mine?")
    assert entry.calls == []
    with pytest.raises(EquerryError):
        entry.turns.submit(ada, second, "x" * 120_001)
    assert entry.calls == []
    entry.turns.submit(ada, second, "And?")
    entry.forget()
    with pytest.raises(RateLimited):
        entry.turns.submit(ada, third, "And this?")

    assert entry.calls == ["BatchGetItem"]
    assert entry.statements == ["SELECT"]


def test_a_conversation_that_is_taken_is_refused_after_two_reads_more(entry: Entry) -> None:
    ada = build_scope(new_organisation())
    conversation = entry.open(ada)
    entry.turns.submit(ada, conversation, "Well?")
    entry.forget()

    with pytest.raises(TurnInProgress):
        entry.turns.submit(ada, conversation, "And?")

    # Whether its run was asked to stop is looked up before it is refused.
    assert not set(entry.calls) & set(WRITES)
    assert entry.calls == ["BatchGetItem", "GetItem"]
    assert set(entry.statements) == {"SELECT"}


def test_a_fast_path_that_has_no_answer_adds_a_row_and_for_a_how_to_question_one_search(entry: Entry) -> None:
    ada = build_scope(new_organisation())
    fast_path = FastPath(catalogue="pages", help=(CorpusId("help"),))
    words = WordIntentService(
        catalogues=MemoryCatalogueAdapter(), words=PostgresLexicalIndexAdapter(entry.transcripts.connections)
    )
    turns = replace(
        entry.turns,
        profiles=MemoryProfileAdapter(replace(PROFILE, fast_path=fast_path)),
        fast_path=replace(entry.world.fast_path, words=words),
    )

    conversation = entry.open(ada)
    turns.submit(ada, conversation, "Which rate is cheapest?")
    assert entry.calls == ["BatchGetItem", "TransactWriteItems", "SendMessage"]
    assert [len(statements) for statements in entry.transactions] == [5]

    conversation = entry.open(ada)
    turns.submit(ada, conversation, "How do I import rates?")
    assert entry.calls == ["BatchGetItem", "TransactWriteItems", "SendMessage"]
    assert [len(statements) for statements in entry.transactions] == [5, 1]
