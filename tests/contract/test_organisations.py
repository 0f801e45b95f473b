"""What the product says of organisations, who we are to it, and who gets an organisation's export."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any, get_args

import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.exports import S3ExportAdapter
from equerry.adapters.aws.service_tokens import LambdaServiceTokenAdapter
from equerry.adapters.identity_service.organisations import (
    HttpOrganisationStatusAdapter,
    HttpServiceTokenAdapter,
)
from equerry.domain.retention import OrganisationStatus
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.ports.offboarding import ExportPort, OrganisationStatusPort, ServiceTokenPort

from tests.contract.aws_backends import new_name, start_aws
from tests.fakes.clock import FixedClock
from tests.fakes.life import (
    MemoryExportAdapter,
    MemoryOrganisationStatusAdapter,
    MemoryServiceTokenAdapter,
)

ACME = OrganisationId("acme")


class Product:
    """The product's identity service: answers by path, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.url = ""

    def answer(self, path: str, authorization: str | None) -> tuple[int, str]:
        self.asked.append((path, authorization))
        return self.answers.get(path, (404, "{}"))


@contextmanager
def serve(product: Product) -> Iterator[Product]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = product.answer(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{product.url}/elsewhere")
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET  # noqa: N815  # the library's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    product.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield product
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def product() -> Iterator[Product]:
    with serve(Product()) as serving:
        yield serving


@dataclass(frozen=True)
class Directory:
    port: OrganisationStatusPort
    say: Callable[[OrganisationStatus | None], None]


@pytest.fixture(params=["memory", "http"])
def directory(request: pytest.FixtureRequest) -> Directory:
    if request.param == "memory":
        memory = MemoryOrganisationStatusAdapter()

        def remember(status: OrganisationStatus | None) -> None:
            memory.answers["acme"] = [status]

        return Directory(memory, remember)
    product: Product = request.getfixturevalue("product")

    def tell(status: OrganisationStatus | None) -> None:
        product.answers["/organisations/acme"] = (
            (503, "") if status is None else (200, json.dumps({"status": status}))
        )

    return Directory(HttpOrganisationStatusAdapter(product.url, MemoryServiceTokenAdapter()), tell)


@pytest.mark.req("A-OFFB-01")
@pytest.mark.parametrize("status", get_args(OrganisationStatus))
def test_a_status_is_what_the_product_says(directory: Directory, status: OrganisationStatus) -> None:
    directory.say(status)

    assert directory.port.fetch_status(ACME) == status


def test_a_product_that_does_not_answer_says_nothing(directory: Directory) -> None:
    directory.say(None)

    with pytest.raises(Unavailable):
        directory.port.fetch_status(ACME)


def test_an_organisation_the_product_does_not_know_is_unknown(directory: Directory) -> None:
    assert directory.port.fetch_status(OrganisationId("nobody")) == "unknown"


@pytest.mark.req("A-OFFB-05")
@pytest.mark.parametrize(
    ("answer", "means"),
    [
        ((200, '{"status": "DISABLED"}'), "unknown"),
        ((200, '{"status": "deleted"}'), "unknown"),
        ((200, '{"status": null}'), "unknown"),
        ((200, '["disabled"]'), None),
        ((200, "disabled"), None),
        ((200, ""), None),
        ((302, ""), None),
        ((401, '{"status": "disabled"}'), None),
        ((500, '{"status": "disabled"}'), None),
    ],
)
def test_nothing_but_the_word_itself_means_disabled(
    product: Product, answer: tuple[int, str], means: str | None
) -> None:
    product.answers["/organisations/acme"] = answer
    product.answers["/elsewhere"] = (200, '{"status": "disabled"}')
    adapter = HttpOrganisationStatusAdapter(product.url, MemoryServiceTokenAdapter())

    if means is None:
        with pytest.raises(Unavailable):
            adapter.fetch_status(ACME)
    else:
        assert adapter.fetch_status(ACME) == means
    assert product.asked == [("/organisations/acme", "Bearer service-token")]


def test_a_product_that_is_not_there_says_nothing(product: Product) -> None:
    adapter = HttpOrganisationStatusAdapter("http://127.0.0.1:9", MemoryServiceTokenAdapter())

    with pytest.raises(Unavailable):
        adapter.fetch_status(ACME)


def test_without_a_token_the_product_is_not_asked(product: Product) -> None:
    adapter = HttpOrganisationStatusAdapter(product.url, MemoryServiceTokenAdapter(None))

    with pytest.raises(Unavailable):
        adapter.fetch_status(ACME)
    assert product.asked == []


def test_an_id_is_one_part_of_the_address(product: Product) -> None:
    HttpOrganisationStatusAdapter(product.url, MemoryServiceTokenAdapter()).fetch_status(
        OrganisationId("a/../b?c")
    )

    assert product.asked[0][0] == "/organisations/a%2F..%2Fb%3Fc"


@pytest.mark.parametrize("url", ["http://identity.example.com", "ftp://127.0.0.1.example.com", "identity"])
def test_a_token_travels_only_where_nobody_listens(url: str) -> None:
    with pytest.raises(ValueError, match="https"):
        HttpOrganisationStatusAdapter(url, MemoryServiceTokenAdapter())


def mint_by_function(body: str, **more: Any) -> ServiceTokenPort:
    client = AwsClients().functions  # its own: a stub stays on its client
    stub = Stubber(client)
    raw = body.encode()
    stub.add_response("invoke", {"Payload": StreamingBody(BytesIO(raw), len(raw)), **more})
    stub.activate()
    return LambdaServiceTokenAdapter(client, "arn:aws:lambda:eu-central-1:123456789012:function:m:live")


@pytest.fixture(params=["memory", "http", "function"])
def tokens(request: pytest.FixtureRequest) -> ServiceTokenPort:
    if request.param == "memory":
        return MemoryServiceTokenAdapter()
    if request.param == "function":
        return mint_by_function('{"token": "service-token"}')
    product: Product = request.getfixturevalue("product")
    product.answers["/service-token"] = (200, '{"token": "service-token"}')
    return HttpServiceTokenAdapter(f"{product.url}/service-token")


def test_a_token_is_what_was_minted(tokens: ServiceTokenPort) -> None:
    assert tokens.fetch_token() == "service-token"


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ('{"errorMessage": "no"}', {"FunctionError": "Unhandled"}),
        ('{"token": "secret"}', {"FunctionError": "Unhandled"}),
        ('{"token": ""}', {}),
        ('{"token": 7}', {}),
        ("null", {}),
        ("", {}),
    ],
)
def test_a_minting_that_failed_gives_no_token_and_repeats_nothing_of_it(
    body: str, more: dict[str, Any]
) -> None:
    with pytest.raises(Unavailable) as refused:
        mint_by_function(body, **more).fetch_token()

    assert "secret" not in str(refused.value)


@dataclass(frozen=True)
class Exported:
    port: ExportPort
    read: Callable[[str], list[str]]


@pytest.fixture(params=["memory", "s3"])
def exported(request: pytest.FixtureRequest) -> Iterator[Exported]:
    if request.param == "memory":
        memory = MemoryExportAdapter()
        yield Exported(memory, lambda place: memory.taken[place.split("/")[1]])
        return
    with start_aws("moto") as clients:
        bucket = new_name()
        clients.s3.create_bucket(Bucket=bucket)

        def read(key: str) -> list[str]:
            return clients.s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode().splitlines()

        yield Exported(S3ExportAdapter(clients.s3, bucket, FixedClock()), read)


@pytest.mark.req("A-OFFB-08")
def test_an_export_is_found_where_it_says_under_a_prefix_that_no_purge_touches(exported: Exported) -> None:
    place = exported.port.deliver(ACME, iter(['{"a":"ä"}', '{"b":2}']))

    assert exported.read(place) == ['{"a":"ä"}', '{"b":2}']
    assert place.startswith("exports/acme")
