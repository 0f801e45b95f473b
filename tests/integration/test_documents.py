"""Documents come, change and go."""

from pathlib import Path

import pytest

from local.cli.api import Api
from tests.deployed import Deployed, start, wait_for_end

pytestmark = pytest.mark.stack


def test_an_unchanged_folder_embeds_nothing_again(indexed: Deployed, ada: Api, folder: Path) -> None:
    before = ada.get("/corpora/docs/documents")["documents"]

    outcome = indexed.index(folder)

    after = ada.get("/corpora/docs/documents")["documents"]
    assert len(outcome.unchanged) == len(before)
    assert (outcome.new, outcome.changed, outcome.embedded) == ([], [], 0)
    assert {d["documentId"]: d["version"] for d in after} == {d["documentId"]: d["version"] for d in before}


def test_a_changed_document_embeds_only_what_changed(indexed: Deployed, tmp_path: Path) -> None:
    kept = "".join(f"\n## Rule {n}\n\nRule {n} of the boathouse concerns oar number {n}.\n" for n in range(6))
    page = tmp_path / "boathouse.md"
    page.write_text(f"# Boathouse\n{kept}")
    first = indexed.index(tmp_path, corpus="boathouse")
    page.write_text(f"# Boathouse\n{kept}\n## Rule 7\n\nRule 7 of the boathouse forbids singing.\n")

    second = indexed.index(tmp_path, corpus="boathouse")

    assert second.changed == ["boathouse.md"]
    assert 0 < second.embedded < first.embedded + 1


def test_a_deleted_document_is_not_answered_from_any_more(
    indexed: Deployed, ada: Api, tmp_path: Path
) -> None:
    (tmp_path / "ferry.md").write_text("# Ferry\n\nThe ferry Petrel crosses the sound in nineteen minutes.\n")
    (tmp_path / "other.md").write_text(
        "# Lighthouse\n\nThe lighthouse keeper paints the gallery every April.\n"
    )
    indexed.index(tmp_path, corpus="ferry")
    question = "How many minutes does the ferry Petrel take to cross the sound?"
    _, run_id = start(ada, question)
    assert "nineteen" in wait_for_end(ada, run_id)["message"]["text"]
    (tmp_path / "ferry.md").unlink()

    outcome = indexed.index(tmp_path, corpus="ferry", prune=True)

    assert outcome.pruned == ["ferry.md"]
    _, again = start(ada, question)
    run = wait_for_end(ada, again)
    assert "nineteen" not in run["message"]["text"]
    assert all(ref["sourcePath"] != "ferry.md" for ref in run["message"]["citations"])


def test_a_file_that_is_not_what_it_says_fails_with_a_reason(indexed: Deployed, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"this is no PDF")

    outcome = indexed.index(tmp_path, corpus="broken")

    assert outcome.new == []
    assert outcome.failed["broken.pdf"]
