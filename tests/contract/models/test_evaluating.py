"""`equerry models`: a model is asked over its wire, and what was found is kept."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from equerry.domain.evaluations import decode_evaluation
from equerry.evaluation.model_cases import list_cases
from typer.testing import CliRunner, Result

from local.cli.main import app
from tests.strict import anthropic_events as wire
from tests.strict.anthropic_server import KEY, StrictAnthropicServer, serve_anthropic

PAIR = "anthropic/claude-test-1"


@pytest.fixture
def server() -> Iterator[StrictAnthropicServer]:
    """A model that says hello, whatever it is asked."""
    with serve_anthropic(lambda _: wire.Stream(wire.message(wire.text("Hello.")))) as running:
        yield running


def check(url: str, folder: Path, *, key: str = KEY, pair: str = PAIR) -> Result:
    command = ["models", "check", pair, "--base-url", url, "--plays", "1", "--folder", str(folder)]
    return CliRunner().invoke(app, command, env={"ANTHROPIC_API_KEY": key})


@pytest.mark.req("F-GATE-06")
def test_every_case_is_a_legal_request_and_a_model_that_fails_them_is_kept_as_such(
    server: StrictAnthropicServer, tmp_path: Path
) -> None:
    result = check(server.url, tmp_path)

    assert server.violations == []
    assert len(server.requests) == len(list_cases())
    (path,) = tmp_path.glob("*.json")
    found = decode_evaluation(json.loads(path.read_text()))
    assert not found.admits
    assert (result.exit_code, "is not admitted" in result.output) == (2, True)
    listed = CliRunner().invoke(app, ["models", "list", "--folder", str(tmp_path)]).output
    assert PAIR in listed
    assert "not admitted" in listed


@pytest.mark.parametrize(("key", "pair"), [("wrong", PAIR), ("", PAIR), (KEY, "claude"), (KEY, "extractive")])
def test_nothing_is_kept_where_nothing_was_found_out(
    server: StrictAnthropicServer, tmp_path: Path, key: str, pair: str
) -> None:
    result = check(server.url, tmp_path, key=key, pair=pair)

    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []
    assert key == "" or key not in result.output
    assert "→" in result.output


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_paid_for(
    server: StrictAnthropicServer, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()

    result = check(server.url, tmp_path / name)

    assert (result.exit_code, server.requests) == (1, [])
    assert "--folder" in result.output


def test_a_region_that_nobody_named_is_asked_for(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"))
    nowhere |= {"AWS_CONFIG_FILE": "/dev/null"}
    command = ["models", "check", "bedrock/a-model", "--folder", str(tmp_path)]

    result = CliRunner().invoke(app, command, env=nowhere)

    assert result.exit_code == 1
    assert "AWS_DEFAULT_REGION" in result.output


def test_several_models_at_once_are_refused_in_words(server: StrictAnthropicServer, tmp_path: Path) -> None:
    result = check(server.url, tmp_path, pair=f"{PAIR},openai/gpt-x")

    assert result.exit_code == 1
    assert "one model is checked at a time" in result.output


def test_a_file_that_is_no_evaluation_is_named_with_what_to_do(tmp_path: Path) -> None:
    listing = ["models", "list", "--folder", str(tmp_path)]
    empty = CliRunner().invoke(app, listing)
    (tmp_path / "half.json").write_text("{")
    broken = CliRunner().invoke(app, listing)

    assert (empty.exit_code, "equerry models check" in empty.output) == (0, True)
    assert broken.exit_code == 1
    assert "half.json" in broken.output
    assert "→ remove that file" in broken.output
