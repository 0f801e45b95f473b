"""A refusal costs the same work whatever its reason: counted where the work is done, not timed.

What a stranger could measure is what is asked of the stores, and in which order; that is compared.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.connections import PoolBounds, PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.erasure import PostgresErasureAdapter
from equerry.adapters.postgres.roles import PLATFORM, RUNTIME
from equerry.domain.retention import ErasureRequest
from equerry.kernel.identifiers import CorpusId, UserId
from equerry.runtime.websocket import build_websocket_app

from tests.chaos.cell import App, Cell
from tests.chaos.provider import mark_question
from tests.contract.corpora import PIPELINE, build_file, build_publication
from tests.contract.databases import PASSWORDS, build_scope
from tests.contract.directory_server import serve_directory
from tests.contract.test_transcripts import NOON
from tests.faults.plans import Call
from tests.matrix.asking import CORPORA, Names, Request, build_request
from tests.matrix.people import ANNA, CAST, LEO, VERA, Person, Relation
from tests.matrix.rules import DECLARED, list_cells
from tests.matrix.rules import Cell as Field
from tests.matrix.slots import SOCKET, Slot, list_slots

pytestmark = [pytest.mark.postgres, pytest.mark.chaos]

HIDDEN = [field for field in list_cells() if field.expected.is_hidden]
SLOTS = [slot for slot in list_slots() if slot.key in DECLARED and slot.name not in ("corpusId", "runIds")]
CLOCKED = frozenset({"ssm", "secretsmanager"})
"""Read again when what is known of them is old, whoever asks for what."""
WRITING = ("Put", "Update", "Delete", "Transact", "Send")
UNSPEAKABLE = (
    "0F8FAD5B-D9CB-469F-A165-70867728950E",
    "0f8fad5bd9cb469fa16570867728950e",
    "{0f8fad5b-d9cb-469f-a165-70867728950e}",
    "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e",
    "0f8fad5b-d9cb-469f-a165-70867728950e\n",
    " 0f8fad5b-d9cb-469f-a165-70867728950e",
    "0f8fad5b-d9cb-469f-a165-7086772895Ɛe",
    "٠f8fad5b-d9cb-469f-a165-70867728950e",
    "0f8fad5b-d9cb-469f-a165-70867728950e' OR true --",
    "\0",
    "-",
    "..",
    "x" * 3000,
)


@dataclass(frozen=True)
class Cost:
    """What one request made the stores do: statements as they were sent, and calls of AWS, each in order."""

    statements: tuple[str, ...]
    calls: tuple[str, ...]


@dataclass
class House:
    """The cast over real handlers, and what they own."""

    cell: Cell
    things: dict[Person, Names] = field(default_factory=dict)
    sockets: dict[Person, str] = field(default_factory=dict)
    socket_app: App | None = None

    def ask(self, request: Request, person: Person, *, method: str | None = None) -> tuple[int, str]:
        """Put a request; frames get the status that HTTP would have."""
        if request.frame is not None:
            return self._tell(request, person)
        reply = self.cell.request(
            method or request.method,
            request.path,
            request.body,
            organisation=person.organisation,
            user=person.name,
            role=person.role,
            query=request.query,
        )
        content = reply.content if isinstance(reply.content, dict) else {}
        content.pop("reference", None)
        return reply.status, request.hide_ids(json.dumps(content))

    def count(self, request: Request, person: Person) -> tuple[tuple[int, str], Cost]:
        """Put a request, and return its answer with what it cost."""
        calls, statements = self.cell.aws.calls, self.cell.database.calls
        before = len(calls), len(statements)
        answer = self.ask(request, person)
        return answer, Cost(
            statements=tuple(_read_statement(call) for call in statements[before[1] :] if call.body),
            calls=tuple(
                request.hide_ids(f"{call.service} {call.operation}")
                for call in calls[before[0] :]
                if call.service not in CLOCKED
            ),
        )

    def _tell(self, request: Request, person: Person) -> tuple[int, str]:
        connection = self.sockets.get(person) or self._connect(person)
        frames = self.cell.aws.frames[connection]
        frames.clear()
        assert self.socket_app is not None
        context = {"connectionId": connection, "routeKey": "$default"}
        self.socket_app({"requestContext": context, "body": json.dumps(request.frame)}, None)
        (frame,) = (json.loads(text) for text in frames)
        refused = {"not_found": 404, "invalid_request": 400}
        return refused[frame["payload"]["code"]], request.hide_ids(json.dumps(frame["payload"]))

    def _connect(self, person: Person) -> str:
        self.socket_app = self.socket_app or build_websocket_app(self.cell.environment)
        status, text = self.ask(Request("POST", "/tickets"), person)
        assert status == 201
        connection = self.sockets[person] = f"socket-{person.name}"
        self.cell.aws.frames[connection] = []
        context = {"connectionId": connection, "routeKey": "$connect"}
        ticket = {"ticket": json.loads(text)["ticket"]}
        opened = self.socket_app({"requestContext": context, "queryStringParameters": ticket}, None)
        assert opened["statusCode"] == 200
        return connection


def _read_statement(call: Call) -> str:
    """Return the text of a statement: after its kind and length, and of a parsed one after its name."""
    body = call.body[5:]
    if call.body[:1] == b"P":
        body = body.partition(b"\0")[2]
    return body.partition(b"\0")[0].decode()


@pytest.fixture(scope="module")
def house(cell: Cell, worker: App) -> Iterator[House]:
    with serve_directory() as directory:
        cell.environment["DIRECTORY_URL"] = directory.url
        cell.clients["s3"].create_bucket(Bucket=cell.environment["UPLOADS_BUCKET"])
        cell.restart_http()
        house = House(cell)
        for person in CAST:
            directory.members[person.organisation, person.name] = list(person.projects)
            house.things[person] = _settle_in(house, person)
        cell.drain(worker)
        directory.members[LEO.organisation, LEO.name] = []
        _erase(cell, VERA)
        for person in CAST:
            house.things[person] = {**house.things[person], "open": _open(house, person)}
        cell.restart_http()  # nobody remembers what the directory said before
        yield house
        del cell.environment["DIRECTORY_URL"]
        cell.restart_http()


def _open(house: House, person: Person) -> str:
    status, text = house.ask(Request("POST", "/conversations", body={}), person)
    assert status == 201, text
    return str(json.loads(text)["conversationId"])


def _settle_in(house: House, person: Person) -> Names:
    conversation = _open(house, person)
    asked = Request("POST", f"/conversations/{conversation}/messages", body={"text": mark_question("say")})
    status, text = house.ask(asked, person)
    assert status == 202, text
    with psycopg.connect(house.cell.superuser_url, autocommit=True) as session:
        session.execute(
            "UPDATE assistant_conversations SET project_ids = %s WHERE conversation_id = %s",
            (list(person.projects), conversation),
        )
        document = _publish(house.cell, person)
        (found,) = session.execute(
            "SELECT passage_id::text FROM assistant_passages WHERE document_id = %s", (document,)
        ).fetchall()
    return {
        "conversationId": conversation,
        "runId": json.loads(text)["runId"],
        "artifactId": str(uuid4()),
        "corpusId": CORPORA[person.organisation],
        "documentId": document,
        "passageId": found[0],
    }


def _publish(cell: Cell, person: Person) -> str:
    """Publish a document that only they may read, or only the members of their project."""
    content = f"The lantern of {person.name} burns."
    with _connections(cell, RUNTIME) as connections:
        documents = PostgresDocumentAdapter(connections)
        scope = build_scope(person.organisation, person.name, role="admin")
        file = build_file(f"{person.name}.md", content, visible_to=(person.reader_key,))
        corpus = CorpusId(CORPORA[person.organisation])
        (announced,) = documents.announce(scope, corpus, [file], pipeline_version=PIPELINE)
        publication = build_publication(announced.document_id, content)
        assert documents.publish(scope.organisation_id, publication)
    return announced.document_id


def _erase(cell: Cell, person: Person) -> None:
    request = ErasureRequest(user_id=UserId(person.name), request_id=str(uuid4()))
    with _connections(cell, PLATFORM) as connections:
        erasures = PostgresErasureAdapter(connections)
        erasures.begin(request, at=NOON)
        assert erasures.erase_rows(request, again_at=NOON)["assistant_conversations"] == 1


@contextmanager
def _connections(cell: Cell, role: str) -> Iterator[PostgresConnections]:
    address = replace(DatabaseAddress.from_url(cell.superuser_url), username=role, password=PASSWORDS[role])
    connections = PostgresConnections(lambda: address, bounds=PoolBounds(max_size=1, checkout_s=5.0))
    try:
        yield connections
    finally:
        connections.close()


@pytest.mark.req("A-CONV-03", "R-42")
@pytest.mark.parametrize("wanted", HIDDEN, ids=str)
def test_what_is_hidden_costs_what_an_unknown_id_costs_and_writes_nowhere(
    house: House, wanted: Field
) -> None:
    asker = wanted.relation.asker
    request = build_request(wanted, house.things, asker)
    nobody = build_request(wanted.unknown, house.things, asker)
    house.ask(nobody, asker)  # whatever is read once in a while has been read

    (answer, cost), (unknown, usual) = house.count(request, asker), house.count(nobody, asker)

    assert (answer, cost) == (unknown, usual)
    assert answer[0] == wanted.status
    assert "COMMIT" in cost.statements or "ROLLBACK" in cost.statements
    assert not [call for call in cost.calls if call.split()[1].startswith(WRITING)]
    if wanted.slot.method == "GET":
        assert house.ask(request, asker, method="HEAD") == (answer[0], "{}")


@pytest.mark.parametrize("slot", SLOTS, ids=lambda slot: slot.key)
def test_what_is_no_id_is_refused_before_a_store_is_asked(house: House, slot: Slot) -> None:
    malformed = Field(slot, Relation.MALFORMED)
    refusal = ("execute-api PostToConnection",) if slot.method == SOCKET else ()
    house.ask(build_request(malformed, house.things, ANNA), ANNA)

    for text in UNSPEAKABLE if slot.place == "path" else (*UNSPEAKABLE, ""):
        request = replace(build_request(malformed, house.things, ANNA, garbled=text), named=())
        (status, told), cost = house.count(request, ANNA)
        assert (status, cost) == (400, Cost(statements=(), calls=refusal)), text
        assert slot.name in told
