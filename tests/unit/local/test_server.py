import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from local.places import STACK, Places
from local.ports import find_free_port
from local.server import build_app
from local.tokens import load_people


class Echo(BaseHTTPRequestHandler):
    """Stands in for the emulated API: answers with what reached it."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        seen = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
        answer = json.dumps(seen).encode()
        self.send_response(202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Connection", "close")
        self.send_header("X-Reference", "r-1")
        self.end_headers()
        self.wfile.write(answer)

    do_OPTIONS = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815  # the base class's names

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def places_with(state: Path, emulator: int) -> Places:
    return Places(state=state, chat=3307, issuer=3308, emulator=emulator, postgres=54329)


@pytest.fixture
def client(tmp_path: Path, upstream: int) -> Iterator[TestClient]:
    places = places_with(tmp_path, upstream)
    places.outputs.write_text(json.dumps({STACK: {"HttpApiId": "abcd1234"}}))
    page = tmp_path / "dist"
    page.mkdir()
    (page / "index.html").write_text("<!doctype html><title>Equerry</title>")
    with TestClient(build_app(places, load_people(), page), base_url="http://127.0.0.1") as client:
        yield client


def test_a_request_reaches_the_deployed_api_with_its_token_and_body(
    client: TestClient, upstream: int
) -> None:
    answer = client.post(
        "/api/assistant/conversations?x=1",
        json={"title": "hello"},
        headers={"Authorization": "Bearer t", "Connection": "keep-alive, x-secret", "TE": "trailers"},
    )

    seen = answer.json()
    assert answer.status_code == 202
    assert seen["path"] == "/api/assistant/conversations?x=1"
    assert json.loads(seen["body"]) == {"title": "hello"}
    assert seen["headers"]["host"] == f"abcd1234.execute-api.localhost:{upstream}"
    assert seen["headers"]["authorization"] == "Bearer t"
    assert "te" not in seen["headers"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_that_the_gateway_passes_on_is_passed_on(client: TestClient, method: str) -> None:
    answer = client.request(method, "/api/assistant/conversations")

    assert (answer.status_code, answer.headers["x-reference"]) == (202, "r-1")


@pytest.mark.parametrize(
    "path", ["/api/assistant/corpora/%00", "/%00", "/assets/a%00b.js", "/api/assistant/%0A"]
)
def test_a_control_character_in_the_path_is_a_bad_request(client: TestClient, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "invalid_request"


def test_hop_by_hop_headers_stay_on_their_hop(client: TestClient) -> None:
    answer = client.post("/api/assistant/conversations", json={})

    assert answer.headers["x-reference"] == "r-1"
    assert answer.headers.get("connection") != "close"


def test_every_answer_carries_the_security_headers(client: TestClient) -> None:
    for path in ("/", "/config.json"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_the_page_is_told_who_can_sign_in(client: TestClient) -> None:
    config = client.get("/config.json").json()

    assert config["apiUrl"] == "/api/assistant"
    assert len({user["organisationId"] for user in config["users"]}) == 2


def test_before_the_first_deployment_it_says_so(tmp_path: Path) -> None:
    with TestClient(
        build_app(places_with(tmp_path, find_free_port()), ()), base_url="http://127.0.0.1"
    ) as client:
        answer = client.get("/api/assistant/health")

    assert answer.status_code == 503
    assert "make up" in answer.json()["detail"]


def test_a_stopped_emulator_is_a_bad_gateway(tmp_path: Path) -> None:
    places = places_with(tmp_path, find_free_port())
    places.outputs.write_text(json.dumps({STACK: {"HttpApiId": "abcd1234"}}))
    with TestClient(build_app(places, ()), base_url="http://127.0.0.1") as client:
        assert client.get("/api/assistant/health").status_code == 502
