"""`equerry models`: what is told before anybody is asked."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from local.cli.main import app


@pytest.mark.parametrize(
    ("pair", "says", "remedy"),
    [
        ("foo/bar", "there is no provider 'foo'", "name one of bedrock, anthropic, openai, google"),
        ("extractive", "answers without a provider", "needs no evaluation"),
        ("extractive/x", "answers without a provider", "needs no evaluation"),
    ],
)
def test_a_model_that_cannot_be_checked_is_told_with_the_reason(
    pair: str, says: str, remedy: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(app, ["models", "check", pair, "--folder", str(tmp_path)])

    assert done.exit_code == 1
    assert says in done.stderr
    assert remedy in done.stderr


def test_a_folder_that_is_not_there_is_no_empty_list(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["models", "list", "--folder", str(tmp_path / "nowhere")])

    assert done.exit_code == 2
    assert "there is no folder" in done.stderr
