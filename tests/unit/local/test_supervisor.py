import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.errors import PartFailed
from local.files import read_json
from local.places import Places
from local.supervisor import Supervisor, find_supervisor


class ScriptedPart:
    """A part that notes what is asked of it; `dies` and `refuses` say how it misbehaves."""

    port = 1
    pid: int | None = None

    def __init__(self, name: str, diary: list[str], *, dies: bool = False, refuses: bool = False) -> None:
        self.name = name
        self._diary = diary
        self._dies = dies
        self._refuses = refuses
        self._running = False

    def start(self) -> None:
        if self._refuses:
            raise PartFailed(f"{self.name} did not start", "see its log")
        self._diary.append(f"start {self.name}")
        self._running = True

    def stop(self) -> None:
        self._diary.append(f"stop {self.name}")

    @property
    def exit_code(self) -> int | None:
        return None if self._running and not self._dies else 9


class LastPart(ScriptedPart):
    """Asks the supervisor to stop as soon as everything runs."""

    def start(self) -> None:
        super().start()
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path, chat=1, issuer=2, emulator=3, postgres=4)


def test_parts_start_in_order_and_stop_in_the_opposite_one(places: Places) -> None:
    diary: list[str] = []

    code = Supervisor(places, [ScriptedPart("one", diary), LastPart("two", diary)]).run()

    assert code == 0
    assert diary == ["start one", "start two", "stop two", "stop one"]
    assert not places.status.exists()


def test_a_part_that_dies_stops_the_rest_and_is_named(places: Places) -> None:
    diary: list[str] = []

    code = Supervisor(places, [ScriptedPart("one", diary), ScriptedPart("two", diary, dies=True)]).run()

    assert code == 1
    assert diary[2:] == ["stop two", "stop one"]
    status = read_json(places.status)
    assert status["state"] == "failed"
    assert status["failure"].startswith("two died (exit code 9)")


def test_a_failure_is_told_before_the_others_are_stopped(places: Places) -> None:
    told: list[str] = []

    class SlowPart(ScriptedPart):
        """Notes what the status file says while it is being stopped."""

        def stop(self) -> None:
            told.append(read_json(places.status)["state"])

    Supervisor(places, [SlowPart("one", []), ScriptedPart("two", [], dies=True)]).run()

    assert told == ["failed"]


def test_a_part_that_does_not_start_is_named_with_what_to_do(places: Places) -> None:
    diary: list[str] = []

    Supervisor(places, [ScriptedPart("one", diary), ScriptedPart("two", diary, refuses=True)]).run()

    assert read_json(places.status)["failure"] == "two did not start\nsee its log"
    assert "stop one" in diary


def test_a_status_file_of_a_power_cut_fools_nobody(places: Places) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    places.status.write_text(f'{{"pid": {gone.pid}, "state": "running"}}')

    assert find_supervisor(places) is None


def test_a_reused_process_id_is_not_taken_for_the_supervisor(places: Places) -> None:
    places.status.write_text(f'{{"pid": {os.getpid()}, "state": "running"}}')

    assert find_supervisor(places) is None
