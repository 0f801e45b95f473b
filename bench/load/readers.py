"""Readers: one WebSocket a conversation, and when each frame came."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S = 240.0
Ready = asyncio.Semaphore
"""Released once by each reader that listens."""


@dataclass
class Reader:
    """One person before one conversation; `frames` are the envelopes as they came, with the second."""

    conversation_id: str
    run_id: str
    frames: list[tuple[float, dict[str, Any]]] = field(default_factory=list)

    async def read(self, find_address: Callable[[], str], door: asyncio.Semaphore, ready: Ready) -> None:
        """Subscribe, as far as the door lets it, tell that this is done, and read until `done`."""
        async with door:
            address = await asyncio.to_thread(find_address)
            socket = await connect(address, proxy=None, open_timeout=120, ping_interval=None)
            wanted = {"action": "subscribe", "conversationId": self.conversation_id, "runId": self.run_id}
            await socket.send(json.dumps(wanted | {"after": 0}))
            while (await self._take(socket))["type"] != "subscribed":
                pass
        ready.release()
        while (await self._take(socket))["type"] != "done":
            pass
        await socket.close()

    async def _take(self, socket: ClientConnection) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S))
        if frame["seq"] > 0:
            self.frames.append((time.time(), frame))
        return frame

    @property
    def fault(self) -> str | None:
        """What this reader would complain about; None if every envelope came once, in order, up to `done`."""
        seen = [frame["seq"] for _, frame in self.frames]
        types = [frame["type"] for _, frame in self.frames]
        if types.count("done") != 1 or types[-1] != "done":
            return f"{types.count('done')} times done"
        if types.count("error"):
            return f"error {[frame['payload'] for _, frame in self.frames if frame['type'] == 'error']}"
        if sorted(set(seen)) != list(range(1, max(seen) + 1)):
            return f"missing {set(range(1, max(seen) + 1)) - set(seen)}"
        return None if seen == sorted(set(seen)) else "out of order, or twice"

    @property
    def delays_s(self) -> list[float]:
        """How long after the model wrote it the newest word of each text frame was here."""
        return [
            at - float(frame["payload"]["delta"].split()[-1])
            for at, frame in self.frames
            if frame["type"] == "token" and frame["payload"]["delta"].split()
        ]
