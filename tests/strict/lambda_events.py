"""One function as AWS runs it: the Runtime API on one side, what callers invoke on the other."""

import threading
from dataclasses import dataclass, field
from queue import Queue

END = None


@dataclass(slots=True)
class Invoked:
    """An invocation under way.

    Attributes:
        chunks: what the function sent, as it arrives, and then None.
        arrived_s: when each chunk did, on the monotonic clock.
        error: how it ended, if badly: type and message.
        head: the headers of the function's response.
        gone: the caller has left.
    """

    request_id: str
    payload: bytes
    deadline_ms: int
    chunks: "Queue[bytes | None]" = field(default_factory=Queue)
    arrived_s: list[float] = field(default_factory=list)
    error: tuple[str, str] | None = None
    head: dict[str, str] = field(default_factory=dict)
    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)

    def end(self, error: tuple[str, str] | None = None) -> None:
        """Nothing more comes."""
        self.error = error
        self.chunks.put(END)
        self.begun.set()
        self.ended.set()
