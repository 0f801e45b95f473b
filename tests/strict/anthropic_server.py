"""A local server that speaks the Messages API's wire strictly: it refuses what the real one refuses.

It plays the replies it is given, in order, and keeps what it was asked.
"""

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.strict.anthropic_events import Drop, Event, Failure, Finish, Item, Raw, Reply, Stall, Stream
from tests.strict.anthropic_rules import Illegal, check_body, check_headers

KEY = "sk-ant-test-key"
_RESET = struct.pack("ii", 1, 0)


class Dropped(Exception):
    """The reply says that the socket dies here."""


class StrictAnthropicServer(ThreadingHTTPServer):
    """`requests` are the bodies that were legal, `violations` what was said about the others.

    `hung_up` is set once a client left before its reply ended.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: deque[Reply] = deque()
        self.requests: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.signatures: set[str] = set()
        self.paused = False
        self.hung_up = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def play(self, *replies: Reply | tuple[Item, ...]) -> None:
        """Queue replies; items alone are a stream."""
        self.replies.extend(Stream(reply) if isinstance(reply, tuple) else reply for reply in replies)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is part of what is tested."""
        self.hung_up.set()


@contextmanager
def serve_anthropic() -> Iterator[StrictAnthropicServer]:
    """Serve on a free loopback port until the block ends."""
    with StrictAnthropicServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StrictAnthropicServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): entry for name, entry in self.headers.items()}
        self.server.headers_seen.append(headers)
        if self.path != "/v1/messages":
            self._refuse(404, "not_found_error", f"no such path {self.path}")
        elif headers.get("authorization") != f"Bearer {KEY}":
            self._refuse(401, "authentication_error", "invalid bearer token")
        else:
            self._answer(headers, body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Tests print nothing."""

    def _answer(self, headers: dict[str, str], body: bytes) -> None:
        try:
            check_headers(headers)
            parsed = json.loads(body)
            known = frozenset(self.server.signatures)
            check_body(parsed, signatures=known, paused=self.server.paused)
            if parsed.get("stream") is not True:
                raise Illegal("stream: this server only streams")
        except (Illegal, ValueError) as error:
            self.server.violations.append(str(error))
            self._refuse(400, "invalid_request_error", str(error))
            return
        self.server.requests.append(parsed)
        self._play(self.server.replies.popleft() if self.server.replies else Failure(500, "api_error"))

    def _play(self, reply: Reply) -> None:
        match reply:
            case Failure():
                self._refuse(reply.status, reply.kind, reply.message, **reply.headers)
            case Drop():
                self._die()
            case Stream():
                self._stream(reply.items)

    def _refuse(self, status: int, kind: str, message: str, **headers: str) -> None:
        data = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("request-id", "req_1")
        for name, entry in headers.items():
            self.send_header(name, entry)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, items: tuple[Item, ...]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("request-id", "req_1")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for item in items:
                if isinstance(item, Finish):
                    break
                self._send(item)
            self.wfile.write(b"0\r\n\r\n")
        except Dropped:
            self._die()
        except (BrokenPipeError, ConnectionResetError):
            self.server.hung_up.set()
            self.close_connection = True

    def _send(self, item: Item) -> None:
        match item:
            case Event():
                self._note(item)
                self._write(f"event: {item.name}\ndata: {json.dumps(item.data)}\n\n".encode())
            case Raw():
                self._write(item.data)
            case Stall():
                self._stall(item)
            case Drop():
                raise Dropped

    def _stall(self, item: Stall) -> None:
        left = item.seconds
        while left > 0 and not self.server.hung_up.is_set():
            if item.pings:
                self._write(b'event: ping\ndata: {"type": "ping"}\n\n')
            elif self._client_left():
                raise ConnectionResetError
            threading.Event().wait(min(0.02, left))
            left -= 0.02

    def _client_left(self) -> bool:
        self.connection.setblocking(False)  # the standard library's
        try:
            return len(self.connection.recv(1, socket.MSG_PEEK)) == 0
        except BlockingIOError:
            return False
        finally:
            self.connection.setblocking(True)  # the standard library's

    def _note(self, event: Event) -> None:
        delta = event.data.get("delta", {})
        if delta.get("type") == "signature_delta":
            self.server.signatures.add(delta["signature"])
        if event.name == "message_delta":
            self.server.paused = delta.get("stop_reason") == "pause_turn"

    def _write(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _die(self) -> None:
        """Reset the connection, as a crashed server or a cut network does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()
        self.close_connection = True
