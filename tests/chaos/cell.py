"""Real handlers over a real PostgreSQL and the AWS emulator, with a proxy before each that makes them fail.

The queue's event source, the schedule and the sockets' far ends are played by the tests, and leases lapse
when a test says so.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
import psycopg
from equerry.runtime.http import build_http_app
from equerry.runtime.parameters import open_parameters
from equerry.runtime.reaper import build_reaper_app
from equerry.runtime.websocket import build_websocket_app
from equerry.runtime.worker import build_worker_app

from local.places import ROOT, Places
from tests.chaos.provider import Provider, serve_provider
from tests.contract.aws_backends import create_table
from tests.contract.databases import PASSWORDS, Database
from tests.contract.issuer import Issuer, serve_issuer
from tests.faults.aws_proxy import AwsProxy, serve_proxy
from tests.faults.plans import Plan, calm
from tests.faults.postgres_proxy import PostgresProxy, serve_postgres_proxy
from tests.strict.anthropic_server import KEY, StrictAnthropicServer

TABLES = {
    "LEASES_TABLE": None,
    "USAGE_TABLE": "S",
    "CONNECTIONS_TABLE": "S",
    "REPLAY_TABLE": "N",
    "RUN_FLAGS_TABLE": "S",
}
SWITCH = "/equerry/chaos/enabled"
RECEIVES = 3
"""As often as the stack's queue hands a message out before it gives up."""

App = Callable[[dict[str, Any], Any], dict[str, Any]]
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What the HTTP handler answered."""

    status: int
    content: Any


@dataclass
class Cell:
    """One deployment's worth of parts; `environment` is what its functions see."""

    aws: AwsProxy
    database: PostgresProxy
    provider: Provider
    model: StrictAnthropicServer
    issuer: Issuer
    environment: dict[str, str]
    clients: Mapping[str, Any]
    superuser_url: str
    _http: App | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def queue_url(self) -> str:
        """The queue of turns."""
        return self.environment["TURN_QUEUE_URL"]

    @contextmanager
    def weather(self, plan: Plan) -> Iterator[None]:
        """Let both proxies follow a plan while the block runs."""
        self.aws.plan = self.database.plan = plan
        try:
            yield
        finally:
            self.aws.plan = self.database.plan = calm

    def request(
        self,
        method: str,
        path: str,
        content: object = None,
        *,
        organisation: str,
        key: str | None = None,
        user: str = "ada",
        role: str = "member",
        query: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """Call the HTTP handler as API Gateway would, as a member of an organisation."""
        headers = {"authorization": f"Bearer {self._sign(organisation, user, role)}"}
        if key is not None:
            headers["idempotency-key"] = key
        event = {
            "version": "2.0",
            "rawPath": f"/api/assistant{path}",
            "rawQueryString": "",
            "headers": headers,
            "requestContext": {
                "http": {"method": method, "path": f"/api/assistant{path}"},
                "requestId": f"request-{time.monotonic_ns()}",
                "stage": "$default",
            },
            "body": None if content is None else json.dumps(content),
            "isBase64Encoded": False,
            **({"queryStringParameters": dict(query)} if query else {}),
        }
        with self._lock:  # a function serves one request at a time
            self._http = self._http or build_http_app(self.environment)
            answer = self._http(event, None)
        return HttpReply(int(answer["statusCode"]), json.loads(answer["body"] or "null"))

    def restart_http(self) -> None:
        """Let the next request find a cold HTTP function, which reads its parameters anew."""
        open_parameters.cache_clear()
        self._http = None

    def listen(self, conversation_id: str, run_id: str | None = None, *, organisation: str) -> list[str]:
        """Open a socket and subscribe it to a run, or to all to come; what it is sent goes into the list."""
        ticket = self.request("POST", "/tickets", organisation=organisation).content["ticket"]
        connection = f"socket-{time.monotonic_ns()}"
        frames = self.aws.frames[connection] = []
        wanted: dict[str, object] = {"action": "subscribe", "conversationId": conversation_id}
        if run_id is not None:
            wanted |= {"runId": run_id, "after": 0}
        app = build_websocket_app(self.environment)
        context = {"connectionId": connection, "routeKey": "$connect"}
        opened = app({"requestContext": context, "queryStringParameters": {"ticket": ticket}}, None)
        assert opened["statusCode"] == 200, opened
        app({"requestContext": context | {"routeKey": "$default"}, "body": json.dumps(wanted)}, None)
        return frames

    def build_worker(self) -> App:
        """Return a worker function of its own, as another container would hold it."""
        return build_worker_app(self.environment)

    def receive(self, *, wait_s: int = 0) -> Message | None:
        """Take the next message off the queue, as the event source does; None if none can be seen."""
        answer = self.clients["sqs"].receive_message(
            QueueUrl=self.queue_url,
            MaxNumberOfMessages=1,
            WaitTimeSeconds=wait_s,
            AttributeNames=["All"],
        )
        found: list[Message] = answer.get("Messages", [])
        return found[0] if found else None

    def hand_over(self, worker: App, message: Message) -> bool:
        """Give a message to a worker; whether it was done with it. Otherwise it can be seen again at once."""
        if worker(describe_event(message), None)["batchItemFailures"]:
            self.show_again(message)
            return False
        self.clients["sqs"].delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return True

    def show_again(self, message: Message) -> None:
        """End a message's hiding, as time would."""
        self.clients["sqs"].change_message_visibility(
            QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
        )

    def drain(self, worker: App) -> None:
        """Work until no message can be seen."""
        while message := self.receive():
            self.hand_over(worker, message)

    def lapse_leases(self) -> None:
        """Let every lease's time run out."""
        for item in self.scan("LEASES_TABLE"):
            self.clients["dynamodb"].update_item(
                TableName=self.environment["LEASES_TABLE"],
                Key={"pk": item["pk"]},
                UpdateExpression="SET held_until = :past",
                ExpressionAttributeValues={":past": {"N": "0"}},
            )

    def reap(self) -> None:
        """Run the schedule until nothing is left to settle; leases lapse before each round."""
        reaper = build_reaper_app(self.environment)
        for _ in range(5):
            self.lapse_leases()
            reaper({}, None)
            if not self.scan("LEASES_TABLE"):
                return

    def scan(self, table: str) -> list[dict[str, Any]]:
        """Return every item of a table."""
        pages = self.clients["dynamodb"].get_paginator("scan").paginate(TableName=self.environment[table])
        return [item for page in pages for item in page["Items"]]

    def select(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the database as its superuser."""
        with psycopg.connect(self.superuser_url) as session:
            return session.execute(query, values).fetchall()

    def _sign(self, organisation: str, user: str, role: str) -> str:
        now = int(time.time())
        claims = {
            "iss": Issuer.name,
            "aud": ["equerry"],
            "sub": user,
            "typ": "user",
            "org": organisation,
            "role": role,
            "iat": now,
            "exp": now + 3600,
        }
        return self.issuer.sign(claims)


def describe_event(message: Message) -> dict[str, Any]:
    """Return a message as the event source hands it to a function."""
    attributes = message["Attributes"]
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": attributes,
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:turns.fifo",
        "awsRegion": "us-east-1",
    }
    return {"Records": [record]}


@contextmanager
def open_cell(places: Places, database: Database) -> Iterator[Cell]:
    """Open a cell over a running emulator and a migrated database."""
    with (
        serve_proxy(places.emulator) as aws,
        serve_postgres_proxy(database.server.port) as postgres,
        serve_provider() as (provider, model),
        serve_issuer() as issuer,
    ):
        clients = _connect(places.aws_url)
        environment = _build_environment(aws, clients, provider, issuer)
        address = database.address("equerry_runtime")
        secret = {
            "host": address.host,
            "port": postgres.port,
            "dbname": address.dbname,
            "username": address.username,
            "password": PASSWORDS[address.username],
        }
        environment["DATABASE_SECRET_ARN"] = _keep_secret(clients, "database", json.dumps(secret))
        yield Cell(
            aws=aws,
            database=postgres,
            provider=provider,
            model=model,
            issuer=issuer,
            environment=environment,
            clients=clients,
            superuser_url=database.superuser_url,
        )


def _connect(url: str) -> dict[str, Any]:
    session = boto3.Session("test", "test", region_name="us-east-1")
    names: tuple[Any, ...] = ("dynamodb", "s3", "sqs", "secretsmanager", "ssm")
    return {name: session.client(name, endpoint_url=url) for name in names}


def _build_environment(
    aws: AwsProxy, clients: Mapping[str, Any], provider: Provider, issuer: Issuer
) -> dict[str, str]:
    clients["ssm"].put_parameter(Name=SWITCH, Value="on", Type="String", Overwrite=True)
    tables: Mapping[str, Any] = TABLES
    return {
        "EQUERRY_STAGE": "chaos",
        "EQUERRY_VERSION": "0",
        "EQUERRY_COMMIT": "0",
        "AUTH_JWKS_URL": issuer.url,
        "AUTH_ISSUER": Issuer.name,
        "AUTH_AUDIENCE": "equerry",
        "TURN_QUEUE_URL": _create_queue(clients["sqs"], aws.url),
        "UPLOADS_BUCKET": "uploads",
        "WEBSOCKET_URL": "wss://socket.example/live",
        "WEBSOCKET_ENDPOINT": f"{aws.url}/live",
        "PROFILES_PATH": str(ROOT / "profiles"),
        "MODEL_PROVIDER": "anthropic",
        "MODEL_ID": "claude-test-1",
        "MODEL_SECRET_ARN": _keep_secret(clients, "model", KEY),
        "MODEL_BASE_URL": provider.url,
        "ASSISTANT_ENABLED_SSM_PARAMETER": SWITCH,
        "ASSISTANT_USER_TURNS_PER_MINUTE": "10000",
        "ASSISTANT_ORGANISATION_TURNS_PER_MINUTE": "10000",
        "ASSISTANT_DAILY_TOKENS": "1000000000",
        **{name: create_table(clients["dynamodb"], sort=sort) for name, sort in tables.items()},
    }


def _create_queue(sqs: Any, proxy_url: str) -> str:
    dead = sqs.create_queue(QueueName="dead.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": RECEIVES})
    attributes = {"FifoQueue": "true", "VisibilityTimeout": "330", "RedrivePolicy": redrive}
    url: str = sqs.create_queue(QueueName="turns.fifo", Attributes=attributes)["QueueUrl"]
    return proxy_url + "/" + url.split("/", 3)[3]


def _keep_secret(clients: Mapping[str, Any], name: str, text: str) -> str:
    arn: str = clients["secretsmanager"].create_secret(Name=name, SecretString=text)["ARN"]
    return arn
