"""Reading one round of a model that may stall: within time, and never past a cancellation."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Literal

from equerry.engine.model import ModelEvent, ModelRequest, Restarted, StreamRound
from equerry.engine.threads import THREADS, Task
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable

LOOK_EVERY_S = 0.2
"""How often whoever waits looks whether it should: a stop is to be seen well within a second."""
_FAREWELL_S = 0.2

RoundBreak = Literal["cancelled", "deadline"]
FindBreak = Callable[[], RoundBreak | None]
TakeEvent = Callable[[ModelEvent], None]


class ModelSilent(Unavailable):
    """The model did not begin; nothing of its answer was seen."""

    code = "model_unavailable"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the model did not begin to answer within {seconds:g} s; ask again")


class ModelTimeout(Unavailable):
    """The model stopped in the middle; what it had said stays."""

    code = "model_timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the model went silent for {seconds:g} s in the middle of its answer; ask again")


@dataclass(slots=True, kw_only=True)
class RoundReader:
    """Reads a round in a thread of its own, which is left behind when the provider does not let go of it.

    Attributes:
        take: given each event, one at a time and none after `read` has returned.
        find_break: asked before each event, and while there is none; must be cheap.
        first_chunk_s: how long the provider may say nothing at first, and when it begins anew.
        inter_chunk_s: how long it may say nothing later.
    """

    stream_round: StreamRound
    request: ModelRequest
    take: TakeEvent
    find_break: FindBreak
    clock: Clock
    first_chunk_s: float
    inter_chunk_s: float
    _gate: Lock = field(default_factory=Lock)
    _over: bool = False
    _begun: bool = False
    _waits_since_s: float = 0.0
    _break: RoundBreak | None = None

    def read(self) -> RoundBreak | None:
        """Return None when the round came to its own end, else what broke it off.

        Raises:
            ModelSilent, ModelTimeout: the provider said nothing for too long.
            EquerryError: whatever the model, or `take`, failed with.
        """
        self._waits_since_s = self.clock.monotonic_s()
        ended: SimpleQueue[Task[Any]] = SimpleQueue()
        task = THREADS.start(self._pass_events, ended)
        while not _wait(ended, LOOK_EVERY_S):
            if self._look():
                self._leave(ended)
                return self._break
        task.result()
        return self._break

    def _pass_events(self) -> None:
        """In the thread: each event is taken before the next is asked for, so that none is read in vain."""
        with closing(self.stream_round(self.request)) as events:
            for event in events:
                with self._gate:
                    if self._over:
                        return
                    self._begun = not isinstance(event, Restarted)
                    self._break = self.find_break()
                    if self._break is not None:
                        return
                    self.take(event)
                    self._waits_since_s = self.clock.monotonic_s()

    def _look(self) -> bool:
        """Whether to wait no longer; from then on no event is taken."""
        # Held while an event is taken, which is not the provider's silence.
        if not self._gate.acquire(blocking=False):
            return False
        try:
            self._break = self._break or self.find_break()
            self._over = self._break is not None or self._is_silent()
        finally:
            self._gate.release()
        return self._over

    def _is_silent(self) -> bool:
        return self.clock.monotonic_s() - self._waits_since_s > self._patience_s

    @property
    def _patience_s(self) -> float:
        return self.inter_chunk_s if self._begun else self.first_chunk_s

    def _leave(self, ended: "SimpleQueue[Task[Any]]") -> None:
        """Tell the thread to let go, and go; one that does not hear it ends by its own time-outs."""
        self.request.cancellation.cancel()
        _wait(ended, _FAREWELL_S)
        if self._break is None:
            raise ModelTimeout(self.inter_chunk_s) if self._begun else ModelSilent(self.first_chunk_s)


def _wait(ended: "SimpleQueue[Task[Any]]", seconds: float) -> bool:
    try:
        ended.get(timeout=seconds)
    except Empty:
        return False
    return True
