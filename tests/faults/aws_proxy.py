"""Stands between the functions and the AWS endpoint, and lets calls go wrong as a plan says."""

import http.client
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.faults.plans import Answer, Call, CancelTransaction, Delay, Fault, LoseAnswer, Plan, Reset, calm

TARGETS = {"DynamoDB": "dynamodb", "AmazonSQS": "sqs", "AmazonSSM": "ssm", "secretsmanager": "secretsmanager"}
SOCKET = re.compile(r"/@connections/([^/?]+)")
HOP_BY_HOP = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length", "expect"))
_RESET = struct.pack("ii", 1, 0)


class AwsProxy(ThreadingHTTPServer):
    """Forwards to `upstream` on this machine. Sockets are its own: a post to one is kept in `frames`, by id.

    Attributes:
        plan: what goes wrong; may be changed at any time.
        calls: everything that came by, in order.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, upstream: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.plan: Plan = calm
        self.calls: list[Call] = []
        self.frames: dict[str, list[str]] = {}

    @property
    def url(self) -> str:
        """Where functions find AWS."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever was killed does not read its answer."""


@contextmanager
def serve_proxy(upstream: int) -> Iterator[AwsProxy]:
    """Serve on a free loopback port until the block ends."""
    with AwsProxy(upstream) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AwsProxy
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self._upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)

    def finish(self) -> None:
        self._upstream.close()
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Tests print nothing."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        call = _name_call(self.path, self.headers, body)
        self.server.calls.append(call)
        fault = self.server.plan(call)
        if isinstance(fault, Delay):
            time.sleep(fault.seconds)
        if isinstance(fault, Reset):
            self._die()
        elif isinstance(fault, Answer | CancelTransaction):
            self._refuse(fault, call)
        else:
            self._pass_on(call, body, fault)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815  # the base class's names

    def _pass_on(self, call: Call, body: bytes, fault: Fault | None) -> None:
        if call.service == "execute-api":
            status, headers, answer = self._keep_frame(body)
        else:
            status, headers, answer = self._ask(body)
        if isinstance(fault, LoseAnswer):
            fault.then()
            self._die()
        else:
            self._answer(status, headers, answer)

    def _ask(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        headers = {name: text for name, text in self.headers.items() if name.lower() not in HOP_BY_HOP}
        self._upstream.request(self.command, self.path, body, headers)
        answer = self._upstream.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def _keep_frame(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        found = SOCKET.search(self.path)
        frames = self.server.frames.get(found[1]) if found else None
        if frames is None:
            return 410, {"x-amzn-errortype": "GoneException"}, b"{}"
        frames.append(body.decode())
        return 200, {}, b""

    def _refuse(self, fault: Answer | CancelTransaction, call: Call) -> None:
        if isinstance(fault, CancelTransaction):
            writes = len(json.loads(call.body)["TransactItems"])
            code, status = "TransactionCanceledException", 400
            content: dict[str, object] = {"CancellationReasons": [{"Code": fault.reason}] * writes}
        else:
            code, status, content = fault.code, fault.status, {"message": fault.message}
        body = json.dumps({"__type": f"com.amazonaws#{code}", **content}).encode()
        headers = {"content-type": "application/x-amz-json-1.0", "x-amzn-errortype": code}
        self._answer(status, headers, body)

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, text in headers.items():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, text)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def _die(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()
        self.close_connection = True


def _name_call(path: str, headers: Any, body: bytes) -> Call:
    service, _, operation = str(headers.get("x-amz-target", "")).partition(".")
    for prefix, name in TARGETS.items():
        if service.startswith(prefix):
            return Call(name, operation, body)
    if SOCKET.search(path):
        return Call("execute-api", "PostToConnection", body)
    return Call("other", path.partition("?")[0], body)
