from pathlib import Path

import pytest

from local.errors import LocalError
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
