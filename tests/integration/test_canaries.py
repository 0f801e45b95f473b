"""Secrets and words planted wherever they can come in, then looked for wherever they could come to lie."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import requests

from local.aws import Session
from local.files import read_json
from local.postgres import EmbeddedPostgres
from tests.deployed import Deployed, read_until, subscribe
from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import KEY, serve_anthropic
from tests.sweep import measure_logs, sweep

pytestmark = pytest.mark.stack


def _mint(shape: str) -> str:
    return shape.format(uuid4().hex)


QUESTION_WORDS = _mint("hippogriff{}")
QUESTION_KEY = _mint("sk-ant-api03-{}")
QUESTION_TOKEN = _mint("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ{}.c2lnbmF0dXJl")
ARGUMENT_WORDS = _mint("basilisk{}")
ARGUMENT_KEY = _mint("AKIA{:.16}").upper()
PARAMETER = _mint("glpat-{}")
HEADER_KEY = _mint("ghp_{}")
MODEL_ERROR = _mint("manticore{}")
DRIVER_TEXT = _mint("cockatrice{}")

OWN_WORDS = {"postgres:assistant_messages", "postgres:assistant_conversations", "http"}
"""Where a person's own words belong: their transcript, its title, and what they themselves read of it."""
DATABASE_LOG = "log:postgres"
"""The server's own, which repeats a statement that failed; none of ours writes there."""
ALLOWED: Mapping[str, set[str]] = {
    "question words": OWN_WORDS | {DATABASE_LOG},
    "question key": OWN_WORDS | {DATABASE_LOG},
    "question token": OWN_WORDS | {DATABASE_LOG},
    "driver text": {DATABASE_LOG},
    "parameter": {"http"},
}
"""Which store may hold which canary; everything else is a leak."""


@dataclass
class Conversation:
    """One person's client, which keeps every byte it was answered with."""

    deployed: Deployed
    user: str
    bodies: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)

    @property
    def token(self) -> str:
        tokens = read_json(self.deployed.places.endpoints)["tokens"]
        return str(next(entry["token"] for entry in tokens if entry["userId"] == self.user))

    def ask(self, method: str, path: str, content: Any = None, **params: str | int) -> requests.Response:
        endpoints = read_json(self.deployed.places.endpoints)
        headers = {
            **endpoints["httpHeaders"],
            "authorization": f"Bearer {self.token}",
            "cookie": f"session={HEADER_KEY}",
            "x-api-key": HEADER_KEY,
            "user-agent": f"client {HEADER_KEY}",
        }
        address = f"{endpoints['httpUrl']}/api/assistant{path}"
        answer = requests.request(
            method, address, headers=headers, json=content, params=params or None, timeout=120
        )
        self.bodies.append(answer.text)
        return answer

    def put(self, conversation: str, text: str) -> requests.Response:
        return self.ask("POST", f"/conversations/{conversation}/messages", {"text": text})


def choose(body: wire.Json) -> wire.Reply:
    """Play the provider: what a question says decides what goes wrong."""
    results = json.dumps(body["messages"]).count('"tool_result"')
    if "case:model-fails" in json.dumps(body["messages"][-1]):
        return wire.Failure(400, "invalid_request_error", message=f"prompt is bad: {MODEL_ERROR} {KEY}")
    calls = [
        wire.tool(json.dumps({"query": f"{ARGUMENT_WORDS} {ARGUMENT_KEY}"}), call_id="toolu_1"),
        wire.tool(json.dumps({"query": f"\0{ARGUMENT_WORDS}", "password": ARGUMENT_KEY}), call_id="toolu_2"),
        wire.tool(json.dumps({"api_key": ARGUMENT_KEY}), call_id="toolu_3", name="wyvern"),
    ]
    if results < len(calls):
        return wire.Stream(wire.message(calls[results], stop="tool_use"))
    return wire.Stream(wire.message(wire.text("All is well.")))


@contextmanager
def live_model(deployed: Deployed, url: str) -> Iterator[None]:
    """Have the worker ask the strict provider."""
    secrets = Session(deployed.places).secrets
    variables = {
        "MODEL_PROVIDER": "anthropic",
        "MODEL_ID": "claude-test-1",
        "MODEL_BASE_URL": url,
        "MODEL_SECRET_ARN": secrets.create_secret(Name=_mint("canary-{}"), SecretString=KEY)["ARN"],
    }
    with deployed.released_worker(variables):
        yield


@contextmanager
def failing_database(deployed: Deployed) -> Iterator[None]:
    """Have the database refuse some questions, in words that repeat what it was given."""
    server = EmbeddedPostgres(deployed.places.state / "postgres", deployed.places.postgres)
    refuse = f"""
        CREATE OR REPLACE FUNCTION canary() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.content LIKE '%case:saturated%' THEN
                RAISE EXCEPTION '{DRIVER_TEXT} %', NEW.content USING ERRCODE = '53300';
            ELSIF NEW.content LIKE '%case:database-fails%' THEN
                RAISE EXCEPTION '{DRIVER_TEXT} %', NEW.content;
            END IF;
            RETURN NEW;
        END $$;
        CREATE OR REPLACE TRIGGER canary BEFORE INSERT ON assistant_messages
            FOR EACH ROW EXECUTE FUNCTION canary()"""
    with psycopg.connect(server.superuser_url, autocommit=True) as session:
        session.execute(refuse)
        try:
            yield
        finally:
            session.execute("DROP TRIGGER canary ON assistant_messages; DROP FUNCTION canary()")


@dataclass
class Mixed:
    """What a mixed run left behind."""

    client: Conversation
    answers: dict[str, requests.Response]
    runs: dict[str, Mapping[str, Any]]
    kept: list[tuple[str, str]]
    ticket: str


@pytest.fixture(scope="module")
def mixed(deployed: Deployed) -> Mixed:
    """A run of everything that may go wrong, canaries and all, and what every store held afterwards."""
    starts = measure_logs(deployed.places)
    client = Conversation(deployed, "ben")
    secrets = f"{QUESTION_WORDS} {QUESTION_KEY} {QUESTION_TOKEN}"
    answers: dict[str, requests.Response] = {}
    runs: dict[str, Mapping[str, Any]] = {}
    with serve_anthropic(choose) as server, live_model(deployed, server.url), failing_database(deployed):
        conversation = client.ask("POST", "/conversations", {}).json()["conversationId"]
        for case in ("answered", "model-fails", "saturated", "database-fails"):
            answers[case] = client.put(conversation, f"{secrets} case:{case}")
            if answers[case].status_code == 202:
                runs[case] = _follow(client, conversation, answers[case].json()["runId"])
        answers["malformed"] = client.ask("POST", "/conversations", {"title": [QUESTION_KEY]})
        answers["unknown"] = client.ask("GET", f"/runs/{uuid4()}", None, wait=PARAMETER)
        ticket = client.ask("POST", "/tickets").json()["ticket"]
        client.bodies.pop()  # the one place where a ticket belongs
        for path in (f"/conversations/{conversation}", "/conversations"):
            client.ask("GET", path)
        assert server.violations == []
    kept = [*sweep(deployed.places, starts)]
    kept += [("http", body) for body in client.bodies] + [("socket", frame) for frame in client.frames]
    return Mixed(client, answers, runs, kept, ticket)


def _follow(client: Conversation, conversation: str, run_id: str) -> Mapping[str, Any]:
    with client.deployed.api(client.user) as api, client.deployed.socket(api) as socket:
        subscribe(socket, conversation, run_id)
        client.frames += map(json.dumps, read_until(socket, "done"))
    client.ask("GET", f"/runs/{run_id}/envelopes")
    run: Mapping[str, Any] = client.ask("GET", f"/runs/{run_id}", wait=20).json()
    return run


def test_the_mixed_run_went_where_the_canaries_are(mixed: Mixed) -> None:
    statuses = {case: answer.status_code for case, answer in mixed.answers.items()}
    stores = {store for store, _ in mixed.kept}

    assert statuses["answered"] == statuses["model-fails"] == 202
    assert mixed.runs["answered"]["stopReason"] == "end_turn"
    assert mixed.runs["model-fails"]["stopReason"] == "error"
    assert (statuses["saturated"], statuses["database-fails"]) == (503, 500)
    assert any(QUESTION_WORDS in text for store, text in mixed.kept if store == "postgres:assistant_messages")
    assert any('"message":"request_failed"' in text for store, text in mixed.kept if store == "log:group")
    assert any('"message":"run_ended"' in text for store, text in mixed.kept if store == "log:group")
    assert any(DRIVER_TEXT in text for store, text in mixed.kept if store == DATABASE_LOG)
    assert {"log:emulator", "http", "socket", "postgres:assistant_runs"} <= stores
    assert any(store.startswith("dynamodb:") for store in stores)


@pytest.mark.req("A-ERR-01", "A-ERR-03", "A-ERR-04")
def test_an_unforeseen_failure_says_nothing_but_where_to_look(mixed: Mixed) -> None:
    answer = mixed.answers["database-fails"]
    problem = answer.json()

    assert (answer.status_code, problem["code"]) == (500, "internal_error")
    assert problem["reference"] == answer.headers["x-request-id"]
    assert DRIVER_TEXT not in answer.text
    assert any(
        problem["reference"] in line and "request_failed" in line
        for store, text in mixed.kept
        if store == "log:group"
        for line in text.splitlines()
    )


@pytest.mark.req("A-ERR-02", "A-ERR-04")
def test_a_saturated_database_is_unavailable_for_five_seconds(mixed: Mixed) -> None:
    answer = mixed.answers["saturated"]

    assert (answer.status_code, answer.json()["code"]) == (503, "service_unavailable")
    assert answer.headers["retry-after"] == "5"
    assert answer.json()["reference"] == answer.headers["x-request-id"]


@pytest.mark.req("A-RED-01", "A-RED-02", "A-RED-03")
@pytest.mark.parametrize(
    "kind",
    [
        *("bearer", "bearer's signature", "ticket", "header", "provider's key"),
        *("question words", "question key", "question token", "argument words", "argument key"),
        *("model error", "driver text", "parameter"),
    ],
)
def test_no_store_keeps_what_it_must_not(mixed: Mixed, kind: str) -> None:
    canary = {
        "bearer": mixed.client.token,
        "bearer's signature": mixed.client.token.rpartition(".")[2],
        "ticket": mixed.ticket,
        "header": HEADER_KEY,
        "provider's key": KEY,
        "question words": QUESTION_WORDS,
        "question key": QUESTION_KEY,
        "question token": QUESTION_TOKEN,
        "argument words": ARGUMENT_WORDS,
        "argument key": ARGUMENT_KEY,
        "model error": MODEL_ERROR,
        "driver text": DRIVER_TEXT,
        "parameter": PARAMETER,
    }[kind]

    leaks = {
        store: text[max(0, text.find(canary) - 300) : text.find(canary) + 100]
        for store, text in mixed.kept
        if canary in text and store not in ALLOWED.get(kind, set())
    }
    assert leaks == {}
