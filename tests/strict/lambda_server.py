"""Lambda for one function, strictly: its Runtime API, and the two ways to invoke it.

A response that breaks the Runtime API's rules is in `violations`. Of the event stream there is one
PayloadChunk a chunk, sent as it came, and InvokeComplete at the end.
"""

import json
import socket
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from uuid import uuid4

from tests.strict.event_stream import frame
from tests.strict.lambda_events import Invoked

_RUNTIME = "/2018-06-01/runtime/"
_STREAMED, _WAITED = "/response-streaming-invocations", "/invocations"
_ERROR_TYPE, _ERROR_BODY = "lambda-runtime-function-error-type", "lambda-runtime-function-error-body"


class LambdaServer(ThreadingHTTPServer):
    """Both sides on one port; the runtime's is `host`, the callers' `url`.

    `idle` is set while a function waits for the next invocation, all that the last one did behind it.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *, time_s: float = 60.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.time_s = time_s
        self.waiting: Queue[Invoked] = Queue()
        self.idle = threading.Event()
        self.known: dict[str, Invoked] = {}
        self.violations: list[str] = []
        self.init_error: str | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def invoke(self, payload: bytes) -> Invoked:
        """Hand an invocation to whoever asks for the next."""
        deadline_ms = int((time.time() + self.time_s) * 1000)
        invoked = Invoked(request_id=str(uuid4()), payload=payload, deadline_ms=deadline_ms)
        self.known[invoked.request_id] = invoked
        self.waiting.put(invoked)
        return invoked

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever leaves is part of what is tested."""


@contextmanager
def serve_lambda(*, time_s: float = 60.0) -> Iterator[LambdaServer]:
    """Serve on a free loopback port until the block ends."""
    with LambdaServer(time_s=time_s) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LambdaServer

    def do_GET(self) -> None:
        if self.path != f"{_RUNTIME}invocation/next":
            self._answer(404, b"{}")
            return
        self.server.idle.set()
        invoked = self.server.waiting.get()
        self.server.idle.clear()
        if self._has_left():
            # A function that was killed while it waited; the next one that asks gets it.
            self.server.waiting.put(invoked)
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Lambda-Runtime-Aws-Request-Id", invoked.request_id)
        self.send_header("Lambda-Runtime-Deadline-Ms", str(invoked.deadline_ms))
        self.send_header("Lambda-Runtime-Trace-Id", "Root=1-2-3")
        self.send_header("Content-Length", str(len(invoked.payload)))
        self.end_headers()
        self.wfile.write(invoked.payload)

    def do_POST(self) -> None:
        if self.path == f"{_RUNTIME}init/error":
            self.server.init_error = self.headers[_ERROR_TYPE]
            self._answer(202, self.rfile.read(int(self.headers["content-length"])))
        elif self.path.startswith(f"{_RUNTIME}invocation/"):
            request_id, _, kind = self.path.removeprefix(f"{_RUNTIME}invocation/").partition("/")
            self._take(self.server.known[request_id], kind)
        elif self.path.endswith(_STREAMED):
            self._invoke(streamed=True)
        elif self.path.endswith(_WAITED):
            self._invoke(streamed=False)
        else:
            self._answer(404, b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Tests print nothing."""

    def _has_left(self) -> bool:
        try:
            return len(self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)) == 0
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    def _take(self, invoked: Invoked, kind: str) -> None:
        if invoked.ended.is_set():
            self.server.violations.append("an invocation was answered twice")
        if kind == "error":
            told = json.loads(self.rfile.read(int(self.headers["content-length"])))
            invoked.end((self.headers[_ERROR_TYPE], told["errorMessage"]))
            self._answer(202, b"{}")
            return
        if self.headers["lambda-runtime-function-response-mode"] != "streaming":
            self.server.violations.append("the response does not say that it streams")
        if self.headers["transfer-encoding"] != "chunked":
            self.server.violations.append("the response is not chunked")
        invoked.head = {name.lower(): entry for name, entry in self.headers.items()}
        invoked.begun.set()
        self._take_chunks(invoked)

    def _take_chunks(self, invoked: Invoked) -> None:
        while size := int(self.rfile.readline(), 16):
            chunk = self.rfile.read(size)
            if self.rfile.readline() != b"\r\n":
                self.server.violations.append("a chunk has another size than it says")
            invoked.arrived_s.append(time.monotonic())
            invoked.chunks.put(chunk)
            if invoked.gone.is_set():
                invoked.end()
                self.close_connection = True
                return
        trailers = {}
        while (line := self.rfile.readline().strip()) != b"":
            name, _, text = line.decode().partition(":")
            trailers[name.lower()] = text.strip()
        told = json.loads(b64decode(trailers[_ERROR_BODY])) if _ERROR_BODY in trailers else None
        invoked.end((trailers[_ERROR_TYPE], told["errorMessage"]) if told else None)
        self._answer(202, b"{}")

    def _invoke(self, *, streamed: bool) -> None:
        invoked = self.server.invoke(self.rfile.read(int(self.headers["content-length"])))
        invoked.begun.wait()
        if not invoked.head and invoked.error:
            told = json.dumps({"errorType": invoked.error[0], "errorMessage": invoked.error[1]}).encode()
            self._answer(200, told, {"X-Amz-Function-Error": "Unhandled"})
        elif streamed:
            self._stream(invoked)
        else:
            body = b"".join(iter(invoked.chunks.get, None))
            self._answer(200, body)

    def _stream(self, invoked: Invoked) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.amazon.eventstream")
        self.send_header("X-Amzn-Remapped-Content-Type", invoked.head["content-type"])
        self.send_header("X-Amz-Executed-Version", "1")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for chunk in iter(invoked.chunks.get, None):
                self._write(_event("PayloadChunk", "application/octet-stream", chunk))
            complete = (
                {"ErrorCode": invoked.error[0], "ErrorDetails": invoked.error[1]} if invoked.error else {}
            )
            self._write(_event("InvokeComplete", "application/json", json.dumps(complete).encode()))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            invoked.gone.set()
            self.close_connection = True

    def _write(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, entry in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, entry)
        self.end_headers()
        self.wfile.write(body)


def _event(name: str, content_type: str, payload: bytes) -> bytes:
    headers = {":event-type": name, ":content-type": content_type, ":message-type": "event"}
    return frame(headers, payload)
