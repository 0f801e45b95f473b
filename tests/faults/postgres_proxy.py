"""Stands between the functions and PostgreSQL, and lets statements go wrong as a plan says."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.plans import Call, Delay, LoseAnswer, Plan, Reset, Vanish, calm

_RESET = struct.pack("ii", 1, 0)


class PostgresProxy:
    """Forwards sessions to `upstream` on this machine.

    A driver that waits for each answer, as ours does, sends one statement at a time; what it sends is a Call
    of the service "postgres": CONNECT, BEGIN, COMMIT, ROLLBACK or STATEMENT.
    """

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.plan: Plan = calm
        self.calls: list[Call] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Accept sessions until it is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve_session, args=(client,), daemon=True).start()

    def close(self) -> None:
        """Accept no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve_session(self, client: socket.socket) -> None:
        if self._strike(Call("postgres", "CONNECT")):
            _die(client)
            return
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.upstream)) as server:
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answers = _Answers(server, client)
            threading.Thread(target=answers.pump, daemon=True).start()
            vanished = self._pump_statements(client, server, answers)
            if not vanished:
                # Another thread is reading from it: closing alone would tell the server nothing.
                server.shutdown(socket.SHUT_RDWR)
        client.close()

    def _pump_statements(self, client: socket.socket, server: socket.socket, answers: "_Answers") -> bool:
        """Pass statements on; whether the client vanished without the server hearing of it."""
        while data := client.recv(65_536):
            call = _name_call(data)
            fault = self._strike(call) if call else None
            if isinstance(fault, Reset | Vanish):
                _die(client)
                return isinstance(fault, Vanish)
            if isinstance(fault, LoseAnswer):
                answers.lose_next()
            server.sendall(data)
        return False

    def _strike(self, call: Call) -> Reset | Vanish | LoseAnswer | None:
        self.calls.append(call)
        fault = self.plan(call)
        if isinstance(fault, Delay):
            time.sleep(fault.seconds)
        return fault if isinstance(fault, Reset | Vanish | LoseAnswer) else None


class _Answers:
    """What the server says, passed on until an answer is to be lost."""

    def __init__(self, server: socket.socket, client: socket.socket) -> None:
        self._server = server
        self._client = client
        self._lost = False

    def lose_next(self) -> None:
        """Let the session die as soon as the server has answered."""
        self._lost = True

    def pump(self) -> None:
        """Pass answers on until either side leaves."""
        with contextlib.suppress(OSError):
            while data := self._server.recv(65_536):
                if self._lost:
                    _die(self._client)
                    return
                self._client.sendall(data)
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)


@contextmanager
def serve_postgres_proxy(upstream: int) -> Iterator[PostgresProxy]:
    """Serve on a free loopback port until the block ends."""
    proxy = PostgresProxy(upstream)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()


def _die(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        # Another thread may be reading from it: without this, the kernel keeps the session open for that one.
        client.shutdown(socket.SHUT_RD)
    client.close()


def _name_call(data: bytes) -> Call | None:
    """Return what a client's message asks; None for what belongs to opening and closing a session."""
    if data[:1] == b"Q":
        word = data[5:].split(b"\0")[0].split(b" ")[0].decode(errors="replace").upper()
        return Call("postgres", word if word in ("BEGIN", "COMMIT", "ROLLBACK") else "STATEMENT", data)
    return Call("postgres", "STATEMENT", data) if data[:1] == b"P" else None
