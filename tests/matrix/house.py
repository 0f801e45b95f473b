"""The deployed stack, asked as any of the cast."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import uuid4

import httpx
import jwt
import psycopg
from equerry.adapters.directory.recent import KEPT_S
from websockets.sync.client import ClientConnection

from local import tokens
from local.cli.api import PREFIX, TIMEOUT, Api, Target
from local.files import read_json
from local.memberships import open_memberships
from local.postgres import EmbeddedPostgres
from tests.deployed import READ_TIMEOUT_S, Deployed, start, wait_for_end
from tests.matrix.asking import CORPORA, Names, Request
from tests.matrix.people import ANNA, APOLLO, ELSEWHERE, HERE, NILS, ROSA, Person, Relation

REFERENCE = "matrix"
"""Sent as the request's own, so that it stands in every answer."""
PATIENCE_S = 60.0
DIFFERS = frozenset({"date", "apigw-requestid"})
"""Headers that no two answers share."""
_TOLD = {"subscribed": 200, "pong": 200}
_REFUSED = {"not_found": 404, "invalid_request": 400}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, without what names the request; frames have the status that HTTP would have."""

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text or "null")


@dataclass
class House:
    """Asks the stack as any of the cast.

    Attributes:
        things: everybody's ids, those of who was erased as they were before.
        seen: what somebody who left a project and came back got for their conversation, in order.
        changed_s: when last somebody joined or left.
    """

    stack: Deployed
    closing: ExitStack
    things: dict[Person, Names] = field(default_factory=dict)
    seen: list[int] = field(default_factory=list)
    changed_s: float = 0.0
    _sockets: dict[Person, ClientConnection] = field(default_factory=dict)

    @cached_property
    def client(self) -> httpx.Client:
        """One client for all, which signs each request for itself."""
        endpoints = read_json(self.stack.places.endpoints)
        client = httpx.Client(
            base_url=endpoints["httpUrl"] + PREFIX,
            headers=endpoints["httpHeaders"] | {"x-request-id": REFERENCE},
            timeout=TIMEOUT,
            verify=self.stack.trust or True,
            trust_env=False,
        )
        return self.closing.enter_context(client)

    @cached_property
    def database(self) -> psycopg.Connection[Any]:
        """The stack's database, as its superuser."""
        places = self.stack.places
        url = EmbeddedPostgres(places.state / "postgres", places.postgres).superuser_url
        return self.closing.enter_context(psycopg.connect(url, autocommit=True))

    def sign(self, person: Person, **claims: object) -> str:
        """Return a token of somebody's; `claims` add to it or replace, None takes away."""
        mint = tokens.build_mint(self.stack.places)
        now = int(time.time())
        said: dict[str, object] = {
            "iss": mint.issuer,
            "aud": [tokens.AUDIENCE],
            "sub": person.name,
            "typ": "user",
            "org": person.organisation,
            "role": person.role,
            "iat": now,
            "exp": now + 3600,
        }
        said = {name: claim for name, claim in (said | claims).items() if claim is not None}
        key = mint.keys.load_signing_key()
        return jwt.encode(said, key.private, algorithm="EdDSA", headers={"kid": key.kid})

    @contextmanager
    def api(self, person: Person) -> Iterator[Api]:
        """Open the API as the command line uses it."""
        endpoints = read_json(self.stack.places.endpoints)
        with Api(
            Target(
                url=endpoints["httpUrl"],
                headers=endpoints["httpHeaders"],
                token=self.sign(person),
                trust=self.stack.trust,
            )
        ) as api:
            yield api

    def ask(self, request: Request, person: Person) -> Answer:
        """Put a request as one of the cast."""
        if request.frame is not None:
            return self._tell(request, person)
        return self.send(request, {"authorization": f"Bearer {self.sign(person)}"})

    def send(self, request: Request, headers: Mapping[str, str]) -> Answer:
        """Put a request under these headers alone."""
        answer = self.client.request(
            request.method,
            request.path,
            params=request.query,
            json=request.body,
            headers=headers,
        )
        kept = {name: text for name, text in answer.headers.items() if name.lower() not in DIFFERS}
        return Answer(answer.status_code, request.hide_ids(answer.text), kept)

    def converse(self, person: Person, question: str) -> tuple[str, dict[str, Any]]:
        """Put a question in a new conversation; return it, and the run when it has ended."""
        with self.api(person) as api:
            conversation, run_id = start(api, question)
            return conversation, wait_for_end(api, run_id, within_s=2 * PATIENCE_S)

    def reach(self, relation: Relation) -> None:
        """Wait until it holds that somebody has left their project, or has come back to it."""
        if relation in (Relation.LEFT, Relation.RETURNED) and len(self.seen) == 1:
            self.look(404)
            open_memberships(self.stack.places).change_projects(ROSA.organisation, ROSA.name, join=[APOLLO])
            self.changed_s = time.monotonic()
        if relation is Relation.RETURNED and len(self.seen) == 2:
            self.look(200)

    def look(self, wanted: int) -> None:
        """Ask for a conversation of the project until it is answered so, and nobody's answer is old.

        What it is answered in the end is kept: a cell that finds it otherwise says so, without this wait.
        """
        conversation = Request("GET", f"/conversations/{self.things[ROSA]['conversationId']}")
        deadline_s = time.monotonic() + PATIENCE_S
        while (found := self.ask(conversation, ROSA).status) != wanted or self._is_recent():
            if time.monotonic() > deadline_s:
                break
            time.sleep(0.1)
        self.seen.append(found)

    def _is_recent(self) -> bool:
        """Whether a function may still hold what the directory said before the last change."""
        return time.monotonic() - self.changed_s < KEPT_S

    def list_rows(self) -> str:
        """Return a digest of every row that there is of the two organisations."""
        return str(self.database.execute(self._digests).fetchall())

    @cached_property
    def _digests(self) -> str:
        found = self.database.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND column_name = 'organisation_id' ORDER BY table_name"
        )
        # How a run was delivered is written when its end has been told.
        return " UNION ALL ".join(
            f"SELECT md5(string_agg(line, '|' ORDER BY line)) FROM (SELECT (to_jsonb(t) - 'deliveries')::text"
            f" AS line FROM {table} AS t WHERE organisation_id IN ('{HERE}', '{ELSEWHERE}')) AS lines"
            for (table,) in found.fetchall()
        )

    def open_conversation(self, person: Person, *projects: str) -> str:
        """Open a conversation, and say that it holds content of these projects."""
        with self.api(person) as api:
            conversation = str(api.post("/conversations", {})["conversationId"])
        self.database.execute(
            "UPDATE assistant_conversations SET project_ids = %s WHERE conversation_id = %s",
            (list(projects), conversation),
        )
        return conversation

    def announce_document(self, person: Person) -> str:
        """Announce a document that only this person may read, or only who is in their project."""
        file = {"path": f"{uuid4()}.md", "sha256": "0" * 64, "sizeBytes": 1, "visibleTo": [person.reader_key]}
        with self.api(find_librarian(person)) as api:
            announced = api.post(f"/corpora/{CORPORA[person.organisation]}/uploads", {"files": [file]})
        return str(announced["uploads"][0]["documentId"])

    def _tell(self, request: Request, person: Person) -> Answer:
        socket = self._sockets.get(person) or self._connect(person)
        socket.send(json.dumps(request.frame))
        socket.send(json.dumps({"action": "ping"}))
        frame = self._hear(socket)
        if frame["type"] != "pong":
            assert self._hear(socket)["type"] == "pong"
        payload = frame["payload"]
        status = _REFUSED[payload["code"]] if frame["type"] == "refused" else _TOLD[frame["type"]]
        said = json.dumps({name: each for name, each in frame.items() if name != "at"} | payload)
        return Answer(status, request.hide_ids(said))

    def _connect(self, person: Person) -> ClientConnection:
        with self.api(person) as api:
            self._sockets[person] = self.closing.enter_context(self.stack.socket(api))
        return self._sockets[person]

    def _hear(self, socket: ClientConnection) -> dict[str, Any]:
        """Return the next word about a request; a run's own events, and heartbeats, are passed over."""
        while True:
            frame: dict[str, Any] = json.loads(socket.recv(timeout=READ_TIMEOUT_S))
            if frame["type"] in ("subscribed", "refused", "pong"):
                return frame


def find_librarian(person: Person) -> Person:
    """Return who announces this person's documents."""
    return NILS if person.organisation == ELSEWHERE else ANNA
