"""The process that owns the running parts: it starts them, notices when one dies, and stops them all.

Its status file is the only thing others read of it; its process id in there is checked against the machine,
so a file left by a power cut fools nobody.
"""

import os
import signal
import sys
import time
from types import FrameType

from local.errors import LocalError
from local.files import read_json, write_json
from local.liveness import find_reporter
from local.parts import Part, build_parts, state_of
from local.places import Places

WATCH_S = 0.5


class Supervisor:
    """Runs the parts of one stack until it is told to stop or one of them dies."""

    def __init__(self, places: Places, parts: list[Part]) -> None:
        self._places = places
        self._parts = parts
        self._running: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._stopping = False

    def run(self) -> int:
        """Start, watch, stop; return the exit code (1 if a part failed)."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        try:
            self._start_all()
            failure = self._watch()
        except LocalError as error:
            failure = f"{error}\n{error.remedy}"
        if failure is not None:
            self._report("failed", failure)  # at once: stopping the others takes a while
        self._stop_all()
        if failure is None:
            self._places.status.unlink(missing_ok=True)
            return 0
        self._report("failed", failure)
        return 1

    def _start_all(self) -> None:
        self._report("starting")
        for part in self._parts:
            if self._stopping:
                return
            began = time.monotonic()
            part.start()
            self._seconds[part.name] = round(time.monotonic() - began, 2)
            self._running.add(part.name)
            self._report("starting")
        self._report("running")

    def _watch(self) -> str | None:
        while not self._stopping:
            for part in self._parts:
                if part.exit_code is not None:
                    code = part.exit_code
                    return f"{part.name} died (exit code {code})\nsee {self._places.logs}, then make up"
            time.sleep(WATCH_S)
        return None

    def _stop_all(self) -> None:
        for part in reversed(self._parts):
            part.stop()
            self._running.discard(part.name)

    def _ask_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _report(self, state: str, failure: str | None = None) -> None:
        content = {
            "pid": os.getpid(),
            "state": state,
            "failure": failure,
            "seconds": self._seconds,
            "environment": self._places.to_env(),
            "parts": state_of(self._parts, self._running),
        }
        write_json(self._places.status, content)


def find_supervisor(places: Places) -> int | None:
    """Return the process id of the supervisor of this state folder; None if there is none alive."""
    return find_reporter(read_json(places.status))


def main() -> None:
    """Run the stack that the environment describes."""
    places = Places.from_env()
    sys.exit(Supervisor(places, build_parts(places)).run())


if __name__ == "__main__":
    main()
