"""An emulator that is killed has kept what was saved before; one that is stopped, everything."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.aws import Session
from local.emulator import Emulator, save_state
from local.places import Places
from local.ports import find_free_port

pytestmark = pytest.mark.stack

SAVED_WITHIN_S = 20


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(state=tmp_path, chat=1, issuer=2, emulator=find_free_port(), postgres=4)


@pytest.fixture
def emulator(places: Places) -> Iterator[Emulator]:
    emulator = Emulator(places)
    emulator.start()
    yield emulator
    emulator.stop()


def keep_secret(places: Places) -> None:
    Session(places).secrets.create_secret(Name="kept", SecretString="word")


def find_secret(places: Places) -> str:
    return str(Session(places).secrets.get_secret_value(SecretId="kept")["SecretString"])


def test_what_was_saved_survives_a_kill(places: Places, emulator: Emulator) -> None:
    keep_secret(places)
    assert emulator.pid is not None

    save_state(emulator.pid)
    deadline = time.monotonic() + SAVED_WITHIN_S
    while not list(places.state.rglob("secretsmanager.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(emulator.pid, signal.SIGKILL)
    emulator.stop()
    emulator.start()

    assert find_secret(places) == "word"


def test_everything_survives_a_stop(places: Places, emulator: Emulator) -> None:
    keep_secret(places)

    emulator.stop()
    emulator.start()

    assert find_secret(places) == "word"
