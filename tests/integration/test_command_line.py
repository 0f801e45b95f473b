"""`equerry` as a person types it, against the deployed stack."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.files import read_json
from local.places import PORTS
from tests.deployed import Deployed

pytestmark = pytest.mark.stack

QUESTION = "How long does the mirror of the Aldous telescope have to cool?"
EQUERRY = str(Path(sys.executable).parent / "equerry")


def environment(stack: Deployed) -> dict[str, str]:
    return os.environ | stack.places.to_env()


def equerry(stack: Deployed, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [EQUERRY, *words],
        env=environment(stack) | more,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_indexing_a_folder_again_says_that_nothing_changed(indexed: Deployed, folder: Path) -> None:
    done = equerry(indexed, "index", str(folder))

    assert done.returncode == 0
    assert done.stdout == "0 new, 3 unchanged, 0 failed\n"


def test_a_file_that_fails_is_named_and_fails_the_command(indexed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"this is no PDF either")
    (tmp_path / "logo.png").write_bytes(b"x")

    done = equerry(indexed, "index", str(tmp_path), "--corpus", "broken-too", "-v")

    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "broken.pdf: " in done.stderr
    assert "logo.png" in done.stdout


def test_an_empty_file_is_named_and_stops_no_other(indexed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    (tmp_path / "note.md").write_text("# Note\n\nThe dome is closed when it rains.\n")

    done = equerry(indexed, "index", str(tmp_path), "--corpus", "partly-empty")

    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 new, 0 failed, 1 empty\n"
    assert "empty.md" in done.stderr


def test_a_file_too_large_for_the_server_is_named_and_stops_no_other(
    indexed: Deployed, tmp_path: Path
) -> None:
    (tmp_path / "huge.txt").write_bytes(b"a" * 25_000_001)
    (tmp_path / "note.md").write_text("# Note\n\nThe dome is opened at dusk.\n")

    done = equerry(indexed, "index", str(tmp_path), "--corpus", "partly-huge")

    assert done.returncode == 1
    assert done.stdout == "1 new, 1 failed\n"
    assert "huge.txt: " in done.stderr


def test_a_question_is_answered_with_numbered_sources(indexed: Deployed) -> None:
    done = equerry(indexed, "ask", QUESTION)

    assert done.returncode == 0, done.stderr
    assert "forty minutes" in done.stdout
    assert "[1]" in done.stdout
    assert "(telescope.html)" in done.stdout.partition("Sources")[2]
    assert "Searching" in done.stderr


def test_a_script_gets_the_run_as_json(indexed: Deployed) -> None:
    done = equerry(indexed, "ask", QUESTION, "--json")

    run = json.loads(done.stdout)
    assert run["message"]["citations"][0]["sourcePath"] == "telescope.html"


def test_another_organisation_is_told_how_to_index_and_may_ask_all_the_same(indexed: Deployed) -> None:
    done = equerry(indexed, "ask", QUESTION, "--user", "mira")

    assert done.returncode == 0
    assert "telescope" not in done.stdout
    assert "equerry index" in done.stderr
    assert "Traceback" not in done.stderr


def test_any_deployment_can_be_named_by_address_and_token(indexed: Deployed) -> None:
    token = equerry(indexed, "token", "--user", "eve", "--org", "northwind").stdout.strip()

    done = equerry(indexed, "ask", QUESTION, EQUERRY_URL=indexed.chat_url, EQUERRY_TOKEN=token)

    assert "forty minutes" in done.stdout, done.stderr


def test_a_second_terminal_finds_the_stack_without_its_ports(indexed: Deployed) -> None:
    unset = dict.fromkeys((variable for variable, _, _ in PORTS.values()), "")

    done = equerry(indexed, "ask", QUESTION, **unset)
    switches = equerry(indexed, "switch", "status", **unset)
    told = equerry(indexed, "local", "status", **unset)

    assert "forty minutes" in done.stdout, done.stderr
    assert "conversation " in done.stderr.splitlines()[-1]
    assert switches.returncode == 0, switches.stderr
    assert indexed.chat_url in told.stdout


def test_a_stack_that_does_not_run_is_said_in_a_line(tmp_path: Path, indexed: Deployed) -> None:
    done = equerry(indexed, "ask", QUESTION, EQUERRY_STATE_DIR=str(tmp_path))

    assert done.returncode == 1
    assert done.stderr.splitlines() == ["equerry: the local stack is not running", "  → make up"]


def test_the_state_of_the_stack_is_told(indexed: Deployed) -> None:
    done = equerry(indexed, "local", "status")

    assert done.returncode == 0
    assert done.stdout.count("running") == 4
    assert read_json(indexed.places.endpoints)["chatUrl"] in done.stdout
