import subprocess
import sys
from pathlib import Path

import pytest

from local.errors import LocalError
from local.files import write_json
from local.places import Places


def test_the_environment_moves_state_and_ports(tmp_path: Path) -> None:
    given = {"EQUERRY_STATE_DIR": str(tmp_path), "EQUERRY_CHAT_PORT": "4000"}

    places = Places.from_env(given)

    assert places.state == tmp_path
    assert places.chat_url == "http://127.0.0.1:4000"
    assert places.emulator == 4566


def test_what_is_written_to_the_environment_is_read_back(tmp_path: Path) -> None:
    places = Places(state=tmp_path, chat=1, issuer=2, emulator=3, postgres=4, enforce_iam=True)

    assert Places.from_env(places.to_env()) == places


@pytest.mark.parametrize("text", ["0", "65536", "http", "-1"])
def test_a_port_that_is_none_is_named(text: str) -> None:
    with pytest.raises(LocalError, match="EQUERRY_ISSUER_PORT"):
        Places.from_env({"EQUERRY_ISSUER_PORT": text})


def note_stack(state: Path, pid: int) -> Places:
    """Leave the note of a stack on ports of its own, as its supervisor does."""
    moved = Places(state=state, chat=4001, issuer=4002, emulator=4003, postgres=4004, enforce_iam=True)
    note = {"pid": pid, "state": "running", "failure": None, "environment": moved.to_env(), "parts": []}
    write_json(moved.status, note)
    return moved


def test_a_second_terminal_finds_the_stack_that_runs(tmp_path: Path, supervisor: int) -> None:
    moved = note_stack(tmp_path, supervisor)

    assert Places.from_env({"EQUERRY_STATE_DIR": str(tmp_path)}) == moved


def test_a_port_that_is_given_wins_over_the_stack_that_runs(tmp_path: Path, supervisor: int) -> None:
    note_stack(tmp_path, supervisor)

    places = Places.from_env({"EQUERRY_STATE_DIR": str(tmp_path), "EQUERRY_CHAT_PORT": "5000"})

    assert (places.chat, places.issuer) == (5000, 4002)


def test_a_stack_that_died_leaves_the_usual_ports(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    note_stack(tmp_path, gone.pid)

    assert Places.from_env({"EQUERRY_STATE_DIR": str(tmp_path)}).emulator == 4566
