"""Parameters read without an SDK, as the SDK would read them."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from equerry.adapters.aws.parameters import Parameter, ParameterReader
from equerry.adapters.aws.signed_ssm import SignedSsm, SsmRefused

from tests.contract.models.clock import ScriptedClock

KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session"}


class Ssm(ThreadingHTTPServer):
    """Answers with what it holds if the signature is what botocore makes of the same request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.held = {"/a": "true"}
        self.failures: list[int] = []
        self.asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Ssm

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked += 1
        status = self.server.failures.pop(0) if self.server.failures else 200
        if status == 200 and self.headers["authorization"] != self._sign(body):
            status = 403
        names = json.loads(body)["Names"]
        held = [{"Name": name, "Value": self.server.held[name]} for name in names if name in self.server.held]
        content = json.dumps({"Parameters": held, "InvalidParameters": []}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Tests print nothing."""

    def _sign(self, body: bytes) -> str:
        given = {name: self.headers[name] for name in ("content-type", "x-amz-target", "x-amz-date", "host")}
        request = AWSRequest("POST", self.server.url + "/", data=body, headers=given)
        signer = SigV4Auth(Credentials("AKID", "secret", "session"), "ssm", "eu-central-1")
        request.context["timestamp"] = given["x-amz-date"]
        request.headers["X-Amz-Security-Token"] = "session"
        text = signer.string_to_sign(request, signer.canonical_request(request))
        names = signer.signed_headers(signer.headers_to_sign(request))
        scope = f"AKID/{given['x-amz-date'][:8]}/eu-central-1/ssm/aws4_request"
        signature = signer.signature(text, request)
        return f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={signature}"


@pytest.fixture
def ssm() -> Iterator[Ssm]:
    with Ssm() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def client(ssm: Ssm, **changes: Any) -> SignedSsm:
    return SignedSsm({**KEYS, "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": ssm.url, **changes})


def test_a_parameter_is_read_with_the_signature_that_the_sdk_would_make(ssm: Ssm) -> None:
    answer = client(ssm).get_parameters(Names=["/a", "/absent"])

    assert answer["Parameters"] == [{"Name": "/a", "Value": "true"}]


def test_a_failure_is_tried_once_more_and_a_refusal_is_not(ssm: Ssm) -> None:
    ssm.failures = [500]
    assert client(ssm).get_parameters(Names=["/a"])["Parameters"]

    ssm.asked = 0
    with pytest.raises(SsmRefused, match="status 403"):
        client(ssm, AWS_SECRET_ACCESS_KEY="other").get_parameters(Names=["/a"])
    assert ssm.asked == 1


def test_the_reader_keeps_what_it_knows_when_nobody_answers(ssm: Ssm) -> None:
    clock, wanted = ScriptedClock(), Parameter(name="/a", kept_s=30)
    reader = ParameterReader(client(ssm), clock)
    assert reader.find_text(wanted) == "true"

    clock.sleep(31)
    ssm.failures = [500, 500]

    assert reader.find_text(wanted) == "true"


@pytest.mark.parametrize(
    ("region", "host"),
    [("eu-central-1", "ssm.eu-central-1.amazonaws.com"), ("cn-north-1", "ssm.cn-north-1.amazonaws.com.cn")],
)
def test_without_an_endpoint_it_is_the_regions_own(region: str, host: str) -> None:
    address = SignedSsm({"AWS_REGION": region})._address

    assert (address.scheme, address.netloc) == ("https", host)
