import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from local.condition import probe_status, read_status, to_error
from local.files import write_json
from local.places import Places
from local.ports import find_free_port


@pytest.fixture
def listening() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        yield server.server_port


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path, chat=1, issuer=2, emulator=3, postgres=4)


def write_status(places: Places, pid: int, *ports: int) -> None:
    parts = [{"name": f"part {port}", "port": port, "pid": 1, "state": "running"} for port in ports]
    write_json(places.status, {"pid": pid, "state": "running", "failure": None, "parts": parts})


def test_parts_that_answer_are_running(places: Places, supervisor: int, listening: int) -> None:
    write_status(places, supervisor, listening)

    status = probe_status(places)

    assert status is not None
    assert status["state"] == "running"


def test_a_part_that_does_not_answer_is_told_before_its_supervisor_notices(
    places: Places, supervisor: int, listening: int
) -> None:
    silent = find_free_port()
    write_status(places, supervisor, listening, silent)

    status = probe_status(places)

    assert status is not None
    assert status["state"] == "failed"
    assert [part["state"] for part in status["parts"]] == ["running", "silent"]
    error = to_error(status, places)
    assert str(error) == f"no answer from part {silent} (port {silent})"
    assert error.remedy == "make down, then make up"


def test_a_killed_supervisor_is_a_failure(places: Places, listening: int) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write_status(places, gone.pid, listening)

    status = read_status(places)

    assert status is not None
    assert status["state"] == "failed"
    assert str(to_error(status, places)) == "the supervisor was killed"


def test_where_nothing_runs_there_is_nothing_to_tell(places: Places) -> None:
    assert probe_status(places) is None
