"""RemainsPort and CounterPort: what people, runs and organisations left goes, everybody else's stays."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.artifacts import S3ArtifactStoreAdapter
from equerry.adapters.aws.bodies import S3RemainsAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.connections import DynamoConnectionAdapter
from equerry.adapters.aws.counters import DynamoCounterAdapter
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.adapters.aws.remains import DynamoRemainsAdapter, TurnTables
from equerry.adapters.aws.replay_log import DynamoReplayLogAdapter
from equerry.channel.envelope import Envelope
from equerry.domain.admission import AdmissionRequest
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Principal, Scope
from equerry.domain.submissions import Submission
from equerry.kernel.identifiers import ArtifactId, ConnectionId, ConversationId, RunId
from equerry.ports.artifacts import ArtifactKey
from equerry.ports.disposals import Disposal, DisposalKind, RemainsPort
from equerry.ports.retention import CounterPort

from tests.contract.aws_backends import BACKENDS, create_table, new_identifier, new_name, start_aws
from tests.contract.databases import build_scope
from tests.fakes.clock import NOON, FixedClock
from tests.fakes.life import MemoryCounterAdapter, MemoryRemainsAdapter

# No name can be made of hexadecimal digits: random ids lie beside them.
ADA, BEN = build_scope("acme", "nora"), build_scope("acme", "ben")
ZOE = build_scope("rival", "zoe")
Count = Callable[[], int]


def of(kind: DisposalKind, scope: Scope | None = None, thing: str = "") -> Disposal:
    return Disposal(
        disposal_id=0,
        kind=kind,
        organisation_id=scope.organisation_id if scope else "",
        user_id=scope.user_id if scope and kind != "organisation" else "",
        thing_id=thing,
    )


def person(scope: Scope) -> Disposal:
    return Disposal(disposal_id=0, kind="person", organisation_id="", user_id=scope.user_id)


@dataclass(frozen=True)
class Kept:
    """A store that holds something of Ada's, Ben's and Zoe's; `count` tells how many things it holds."""

    remains: RemainsPort
    count: Count


@pytest.fixture
def aws() -> Iterator[AwsClients]:
    with start_aws(BACKENDS[-1]) as clients:
        yield clients


@pytest.fixture(params=["memory", "items", "objects"])
def kept(request: pytest.FixtureRequest) -> Kept:
    if request.param == "memory":
        memory = MemoryRemainsAdapter()
        for scope in (ADA, BEN, ZOE):
            memory.hold("conversation", f"c-{scope.user_id}")
            memory.hold("person", scope.user_id)
        return Kept(memory, lambda: len(memory.held))
    clients: AwsClients = request.getfixturevalue("aws")
    if request.param == "items":
        tables = Tables(clients)
        for scope in (ADA, BEN, ZOE):
            tables.fill(scope)
        return Kept(DynamoRemainsAdapter(clients.dynamodb, tables.names), tables.count)
    bucket = Bucket(clients)
    for scope in (ADA, BEN, ZOE):
        bucket.fill(scope, f"c-{scope.user_id}")
    return Kept(S3RemainsAdapter(clients.s3, bucket.name), bucket.count)


class Tables:
    """The five tables, with what a person's live turn leaves in them."""

    def __init__(self, clients: AwsClients) -> None:
        self.client = clients.dynamodb
        self.names = TurnTables(
            leases=create_table(self.client, sort=None),
            connections=create_table(self.client, sort="S"),
            replay=create_table(self.client, sort="N"),
            run_flags=create_table(self.client, sort="S"),
            usage=create_table(self.client, sort="S"),
        )

    def fill(self, scope: Scope) -> None:
        user, organisation = {"S": scope.user_id}, {"S": scope.organisation_id}
        run, conversation = f"r-{scope.user_id}", f"c-{scope.user_id}"
        owner: dict[str, Any] = {"user_id": user, "organisation_id": organisation}
        self.put(self.names.leases, {"pk": {"S": conversation}, **owner})
        self.put(self.names.usage, {"pk": organisation, "sk": {"S": "ORGANISATION"}})
        counter = {"pk": organisation, "sk": {"S": f"USER#{scope.user_id}"}, "user_id": user}
        self.put(self.names.usage, counter)
        self.put(self.names.usage, counter | {"sk": {"S": f"SUBMISSION#{scope.user_id}"}})
        principal = Principal(scope=scope, expires_at=NOON + timedelta(hours=1), name=scope.user_id)
        connections = DynamoConnectionAdapter(self.client, self.names.connections)
        connections.issue_ticket(f"ticket-{scope.user_id}", principal, expires_at=NOON)
        connection = ConnectionId(f"socket-{scope.user_id}")
        connections.connect(connection, principal)
        connections.subscribe(connection, ConversationId(conversation), until=NOON + timedelta(hours=1))
        DynamoInterruptAdapter(self.client, self.names.run_flags, FixedClock()).request_interrupt(RunId(run))
        log = DynamoReplayLogAdapter(self.client, self.names.replay, new_identifier)
        for seq in (1, 2):
            log.append(
                Envelope(
                    type="token",
                    run_id=RunId(run),
                    conversation_id=ConversationId(conversation),
                    seq=seq,
                    at=NOON,
                    payload={"delta": scope.user_id},
                    v=1,
                )
            )

    def put(self, table: str, item: Any) -> None:
        self.client.put_item(TableName=table, Item=item)

    def read(self) -> list[dict[str, Any]]:
        names = (
            self.names.leases,
            self.names.connections,
            self.names.replay,
            self.names.run_flags,
            self.names.usage,
        )
        return [dict(item) for name in names for item in self.client.scan(TableName=name)["Items"]]

    def count(self) -> int:
        return len(self.read())


class Bucket:
    """A versioned bucket with bodies and uploads; a body was written twice, another deleted."""

    def __init__(self, clients: AwsClients) -> None:
        self.client, self.name = clients.s3, new_name()
        self.client.create_bucket(Bucket=self.name)
        self.client.put_bucket_versioning(Bucket=self.name, VersioningConfiguration={"Status": "Enabled"})

    def fill(self, scope: Scope, conversation: str) -> None:
        store = S3ArtifactStoreAdapter(self.client, self.name)
        key = ArtifactKey.of(scope, ConversationId(conversation), ArtifactId("a"))
        store.store_artifact(key, b"{}")
        store.store_artifact(key, b"{1}")
        self.client.delete_object(Bucket=self.name, Key=str(key))
        self.client.put_object(Bucket=self.name, Key=f"corpora/{scope.organisation_id}/c/d/{scope.user_id}")

    def list_keys(self) -> list[str]:
        page: Any = self.client.list_object_versions(Bucket=self.name)
        return [entry["Key"] for entry in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]

    def count(self) -> int:
        return len(self.list_keys())


def test_what_is_gone_is_counted_once_and_what_is_absent_is_no_error(kept: Kept) -> None:
    before = kept.count()

    first = kept.remains.dispose((of("conversation", ADA, "c-nora"), person(ADA)))
    again = kept.remains.dispose((of("conversation", ADA, "c-nora"), person(ADA)))
    stranger = kept.remains.dispose((of("run", ADA, "nobody"), of("document", ADA, "no/such")))

    assert first > 0
    assert kept.count() < before
    assert (again, stranger) == (0, 0)


@pytest.mark.req("A-ERASE-08")
def test_a_person_leaves_no_item_and_the_organisation_keeps_its_counters(aws: AwsClients) -> None:
    tables = Tables(aws)
    for scope in (ADA, BEN):
        tables.fill(scope)
    remains = DynamoRemainsAdapter(aws.dynamodb, tables.names)

    remains.dispose((of("conversation", ADA, "c-nora"), of("run", ADA, "r-nora"), person(ADA)))

    left = tables.read()
    assert "nora" not in str(left)
    assert {"pk": {"S": "acme"}, "sk": {"S": "ORGANISATION"}} in left
    assert len([item for item in left if "ben" in str(item)]) == 10


def test_a_person_s_subscriptions_to_conversations_that_stay_go_too(aws: AwsClients) -> None:
    tables = Tables(aws)
    tables.fill(ADA)
    remains = DynamoRemainsAdapter(aws.dynamodb, tables.names)

    remains.dispose((person(ADA),))

    assert not [item for item in tables.read() if "socket-nora" in str(item)]


@pytest.mark.req("F-TENV-04")
def test_an_organisation_leaves_nothing_and_others_keep_theirs(aws: AwsClients) -> None:
    tables, bucket = Tables(aws), Bucket(aws)
    for scope in (ADA, BEN, ZOE):
        tables.fill(scope)
        bucket.fill(scope, f"c-{scope.user_id}")
    runs = [of("run", scope, f"r-{scope.user_id}") for scope in (ADA, BEN)]

    DynamoRemainsAdapter(aws.dynamodb, tables.names).dispose((of("organisation", ADA), *runs))
    S3RemainsAdapter(aws.s3, bucket.name).dispose((of("organisation", ADA),))

    assert not [item for item in tables.read() if "acme" in str(item) or "nora" in str(item)]
    assert len(tables.read()) == 11
    assert len(bucket.list_keys()) == 4
    assert all("rival" in key for key in bucket.list_keys())


@pytest.mark.parametrize("conversations", [1, 5])
def test_every_version_of_a_conversation_s_bodies_goes_and_no_other_conversation_s(
    aws: AwsClients, conversations: int
) -> None:
    bucket = Bucket(aws)
    for number in range(conversations):
        bucket.fill(ADA, f"gone-{number}")
    bucket.fill(ADA, "gone-1x")
    bucket.fill(BEN, "gone-0")
    gone = [of("conversation", ADA, f"gone-{number}") for number in range(conversations)]

    removed = S3RemainsAdapter(aws.s3, bucket.name).dispose(gone)

    assert removed == 3 * conversations
    left = {key for key in bucket.list_keys() if key.startswith("artifacts/")}
    assert left == {"artifacts/acme/nora/gone-1x/a", "artifacts/acme/ben/gone-0/a"}


def test_a_document_s_uploads_go_in_every_version(aws: AwsClients) -> None:
    bucket = Bucket(aws)
    for name in ("corpora/acme/c/d1/x", "corpora/acme/c/d1/x", "corpora/acme/c/d10/x"):
        aws.s3.put_object(Bucket=bucket.name, Key=name)

    assert S3RemainsAdapter(aws.s3, bucket.name).dispose((of("document", ADA, "c/d1"),)) == 2
    assert bucket.list_keys() == ["corpora/acme/c/d10/x"]


def test_what_was_uploaded_after_a_document_went_is_another_document_s(aws: AwsClients) -> None:
    bucket = Bucket(aws)
    aws.s3.put_object(Bucket=bucket.name, Key="corpora/acme/c/d1/x")
    page: Any = aws.s3.list_object_versions(Bucket=bucket.name)
    uploaded_at = page["Versions"][0]["LastModified"]
    remains = S3RemainsAdapter(aws.s3, bucket.name)

    before = replace(of("document", ADA, "c/d1"), due_at=uploaded_at - timedelta(seconds=1))
    after = replace(before, due_at=uploaded_at)

    assert (remains.dispose((before,)), remains.dispose((after,))) == (0, 1)
    assert bucket.list_keys() == []


def test_a_person_s_bodies_in_an_organisation_go_also_where_no_row_leads_to_them(aws: AwsClients) -> None:
    bucket = Bucket(aws)
    for scope in (ADA, BEN, replace(ADA, organisation_id=ZOE.organisation_id)):
        bucket.fill(scope, "nobody-knows-of-it")

    removed = S3RemainsAdapter(aws.s3, bucket.name).dispose((of("person", ADA),))

    assert removed == 3
    left = {key for key in bucket.list_keys() if key.startswith("artifacts/")}
    assert left == {
        "artifacts/acme/ben/nobody-knows-of-it/a",
        "artifacts/rival/nora/nobody-knows-of-it/a",
    }


@pytest.fixture(params=["memory", "items"])
def counters(request: pytest.FixtureRequest) -> tuple[CounterPort, Count]:
    if request.param == "memory":
        memory = MemoryCounterAdapter({"old": NOON - timedelta(days=1), "live": NOON + timedelta(days=1)})
        return memory, lambda: len(memory.until)
    clients: AwsClients = request.getfixturevalue("aws")
    tables = Tables(clients)
    for name, days in (("old", -1), ("live", 1)):
        expires = int((NOON + timedelta(days=days)).timestamp())
        tables.put(
            tables.names.usage,
            {"pk": {"S": "acme"}, "sk": {"S": name}, "expires_at": {"N": str(expires)}},
        )
    return DynamoCounterAdapter(clients.dynamodb, tables.names.usage), tables.count


@pytest.mark.req("A-DATA-10", "A-RETN-04")
def test_a_counter_goes_once_no_window_looks_at_it(counters: tuple[CounterPort, Count]) -> None:
    port, count = counters

    assert port.delete_counters(now=NOON) == 1
    assert port.delete_counters(now=NOON) == 0
    assert count() == 1


def test_what_admission_writes_is_found_by_its_person(aws: AwsClients) -> None:
    """The names of attributes are shared with who writes them: here they are written by it."""
    tables = Tables(aws)
    admissions = DynamoAdmissionAdapter(
        aws.dynamodb,
        leases=tables.names.leases,
        usage=tables.names.usage,
        clock=FixedClock(),
        jitter=lambda: 0.0,
    )
    admissions.admit(
        AdmissionRequest(
            scope=ADA,
            conversation_id=ConversationId("c"),
            run_id=RunId("r"),
            now=NOON,
            until=NOON + timedelta(minutes=5),
            limits=TurnLimits(),
            submission=Submission(digest="d", fingerprint="f"),
        )
    )
    assert tables.count() == 4

    DynamoRemainsAdapter(aws.dynamodb, tables.names).dispose((person(ADA),))

    assert [item["sk"]["S"] for item in tables.read()] == ["ORGANISATION"]
