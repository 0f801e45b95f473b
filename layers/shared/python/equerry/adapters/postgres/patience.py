"""A connection that does not wait for ever: a hung server keeps its sockets open and says nothing."""

import time
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg import Connection, OperationalError
from psycopg.waiting import Ready

if TYPE_CHECKING:
    from psycopg.abc import PQGen

Found = TypeVar("Found")


class PatientConnection(Connection[dict[str, Any]]):
    """Closes itself when the server has sent nothing for `silence_s` during a request.

    Nothing in libpq does that: its keepalives are answered by the server's kernel.
    """

    silence_s: float = 10.0

    def wait(self, gen: "PQGen[Found]", interval: float = 0.1, timeout: float | None = None) -> Found:
        """Wait as Connection does, but not through a longer silence.

        Raises:
            OperationalError: the server was silent; the connection is closed, for its state is unknown.
        """
        return super().wait(self._listen(gen), interval, timeout)

    def _listen(self, gen: "PQGen[Found]") -> "PQGen[Found]":
        heard_s = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready != Ready.NONE:
                    heard_s = time.monotonic()
                elif time.monotonic() - heard_s >= self.silence_s:
                    self.pgconn.finish()
                    raise OperationalError("the server has been silent for too long")
                wanted = gen.send(ready)
        except StopIteration as end:
            found: Found = end.value
            return found
