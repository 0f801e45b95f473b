"""A local server that speaks a model provider's wire strictly: it refuses what the real one refuses.

It plays the replies it is given, in order, or what `choose` finds for a request, and keeps what it was asked.
"""

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from tests.strict.replies import (
    Choose,
    Denied,
    Drop,
    Event,
    Failure,
    Finish,
    Hang,
    Illegal,
    Item,
    Json,
    Raw,
    Reply,
    Stall,
    Stream,
    Then,
)

_RESET = struct.pack("ii", 1, 0)
_Server = TypeVar("_Server", bound="StrictServer")


class Dropped(Exception):
    """The reply says that the socket dies here."""


class StrictServer(ThreadingHTTPServer):
    """One wire; a subclass says what is legal and how events look.

    `requests` are the bodies that were legal, `violations` what was said about the others; `hung_up` is set
    once a client left before its reply ended; `connections` is how many were opened. Only
    with `keeps_alive` may one be used again: a client that nobody closes would leave its own behind.
    """

    daemon_threads = True
    request_queue_size = 256
    content_type = "text/event-stream; charset=utf-8"
    request_id_header = "request-id"
    spare = Failure(500, "api_error")

    def __init__(self, choose: Choose | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: deque[Reply] = deque()
        self.choose = choose or (lambda _: self.replies.popleft() if self.replies else self.spare)
        self.requests: list[Json] = []
        self.paths: list[str] = []
        self.headers_seen: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.hung_up = threading.Event()
        self.connections = 0
        self.keeps_alive = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def play(self, *replies: Reply | tuple[Item, ...]) -> None:
        """Queue replies; items alone are a stream."""
        self.replies.extend(Stream(reply) if isinstance(reply, tuple) else reply for reply in replies)

    def admit(self, path: str, headers: Mapping[str, str]) -> None:
        """Raise Denied for a wrong path or key."""

    def check(self, path: str, headers: Mapping[str, str], body: Any) -> None:
        """Raise Illegal for the first rule that is broken."""

    def encode(self, event: Event) -> bytes:
        return f"event: {event.name}\ndata: {json.dumps(event.data)}\n\n".encode()

    def ping(self) -> bytes:
        return b": still here\n\n"

    def note(self, event: Event) -> None:
        """Remember what a later request must send back."""

    def describe(self, kind: str, message: str) -> Json:
        """The body of an error."""
        return {"type": "error", "error": {"type": kind, "message": message}}

    def head(self, _failure: Failure) -> dict[str, str]:
        """Headers of an error that the wire adds."""
        return {}

    def get_request(self) -> Any:
        self.connections += 1
        return super().get_request()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is part of what is tested."""
        self.hung_up.set()


@contextmanager
def serve(server: _Server) -> Iterator[_Server]:
    """Serve on a free loopback port until the block ends."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Answers come in small pieces, which would otherwise wait for each other's acknowledgements.
    disable_nagle_algorithm = True
    server: StrictServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): entry for name, entry in self.headers.items()}
        self.server.headers_seen.append(headers)
        try:
            self.server.admit(self.path, headers)
            parsed = json.loads(body)
            self.server.check(self.path, headers, parsed)
        except Denied as refusal:
            self._refuse(Failure(refusal.status, refusal.kind, message=str(refusal)))
        except (Illegal, ValueError) as error:
            self.server.violations.append(str(error))
            self._refuse(Failure(400, self._name_of_illegal(), message=str(error)))
        else:
            self.server.paths.append(self.path)
            self.server.requests.append(parsed)
            self._play(self.server.choose(parsed))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Tests print nothing."""

    def end_headers(self) -> None:
        if not self.server.keeps_alive:
            self.send_header("connection", "close")
        super().end_headers()

    def _name_of_illegal(self) -> str:
        return getattr(self.server, "illegal", "invalid_request_error")

    def _play(self, reply: Reply) -> None:
        match reply:
            case Failure():
                self._refuse(reply)
            case Drop():
                self._die()
            case Hang():
                self._hang(reply)
            case Stream():
                self._stream(reply)

    def _hang(self, hang: Hang) -> None:
        with suppress(ConnectionResetError):
            self._stall(Stall(hang.seconds))
        self._die()

    def _refuse(self, failure: Failure) -> None:
        described = self.server.describe(failure.kind, failure.message)
        data = failure.body if failure.body is not None else json.dumps(described).encode()
        self.send_response(failure.status)
        self.send_header("content-type", "application/json")
        self.send_header(self.server.request_id_header, "req_1")
        for name, entry in {**self.server.head(failure), **failure.headers}.items():
            self.send_header(name, entry)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, reply: Stream) -> None:
        self.send_response(200)
        for name, entry in reply.headers.items():
            self.send_header(name, entry)
        self.send_header("content-type", self.server.content_type)
        self.send_header(self.server.request_id_header, "req_1")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for item in reply.items:
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
                self.server.note(item)
                self._write(self.server.encode(item))
            case Raw():
                self._write(item.data)
            case Stall():
                self._stall(item)
            case Then():
                item.act()
            case Drop():
                raise Dropped

    def _stall(self, item: Stall) -> None:
        left = item.seconds
        while left > 0 and not self.server.hung_up.is_set():
            if item.pings:
                self._write(self.server.ping())
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

    def _write(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _die(self) -> None:
        """Reset the connection, as a crashed server or a cut network does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()
        self.close_connection = True
