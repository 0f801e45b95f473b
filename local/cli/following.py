"""Reads one run over the WebSocket: in order, each envelope once, over as many sockets as it takes."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from local.cli.api import Api
from local.errors import LocalError

OPEN_TIMEOUT_S = 30
QUIET_S = 20.0
HOLE_S = 1.0
ATTEMPTS = 5
PAUSE_S = 0.5

Envelope = dict[str, Any]


@dataclass(slots=True)
class Reader:
    """Puts the envelopes of one run in order, whatever order they come in."""

    run_id: str
    last: int = 0
    _early: dict[int, Envelope] = field(default_factory=dict)

    def take(self, frame: Envelope) -> Iterator[Envelope]:
        """Yield what has become readable with this frame: nothing, or one or more envelopes."""
        if frame.get("runId") != self.run_id:
            return
        if frame["seq"] == 0:
            self._skip(frame)
        elif frame["seq"] > self.last:
            self._early[frame["seq"]] = frame
        while self.last + 1 in self._early:
            self.last += 1
            yield self._early.pop(self.last)

    def _skip(self, control: Envelope) -> None:
        if control["type"] == "gap":
            self.last = max(self.last, int(control["payload"]["next"]) - 1)

    @property
    def has_hole(self) -> bool:
        """Whether something later has come while something earlier is missing."""
        return bool(self._early)


def follow(api: Api, conversation_id: str, run_id: str) -> Iterator[Envelope]:
    """Yield the run's envelopes from the first to `done`.

    Raises:
        LocalError: the socket was refused, or broke five times without a new envelope.
    """
    reader = Reader(run_id)
    failures = 0
    while True:
        before = reader.last
        try:
            with _open(api) as socket:
                for envelope in _read(socket, reader, conversation_id):
                    yield envelope
                    if envelope["type"] == "done":
                        return
        except (ConnectionClosed, InvalidHandshake, OSError) as error:
            failures = failures + 1 if reader.last == before else 0
            if failures >= ATTEMPTS:
                raise LocalError(f"the WebSocket cannot be kept open ({error})", "try again") from None
            time.sleep(PAUSE_S)


def _open(api: Api) -> ClientConnection:
    ticket = api.post("/tickets")
    address = f"{ticket['webSocketUrl']}?ticket={ticket['ticket']}"
    secure = address.startswith("wss:")
    return connect(
        address,
        open_timeout=OPEN_TIMEOUT_S,
        ssl=api.target.trust if secure else None,
        proxy=None if api.target.local else True,
        max_size=2**20,
    )


def _read(socket: ClientConnection, reader: Reader, conversation_id: str) -> Iterator[Envelope]:
    _subscribe(socket, reader, conversation_id)
    while True:
        try:
            frame = json.loads(socket.recv(timeout=HOLE_S if reader.has_hole else QUIET_S))
        except TimeoutError:
            _subscribe(socket, reader, conversation_id)  # asks again for whatever was lost on the way
            continue
        if frame.get("type") == "refused":
            raise LocalError(f"the WebSocket refused: {frame['payload'].get('message')}")
        yield from reader.take(frame)


def _subscribe(socket: ClientConnection, reader: Reader, conversation_id: str) -> None:
    wanted = {"conversationId": conversation_id, "runId": reader.run_id, "after": reader.last}
    socket.send(json.dumps({"action": "subscribe", **wanted}))
