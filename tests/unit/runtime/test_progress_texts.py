"""Every tool of the registry tells a person what it does and what it did, in plain sentences."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from equerry.adapters.filesystem.profiles import FolderProfileAdapter
from equerry.domain.corpora import Passage
from equerry.domain.evidence import Evidence
from equerry.domain.profiles import Profile
from equerry.domain.retrieval import Retrieval
from equerry.domain.steps import derive_step_text, find_plain_text
from equerry.engine.tool import Tool
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId, RunId
from equerry.runtime import tools

from local.places import ROOT
from tests.unit.services.world import ADA, NONCE

PROFILES = sorted((ROOT / "profiles").glob("*.toml"))
PASSAGE = Passage(
    passage_id=PassageId("p"),
    document_id=DocumentId("d"),
    corpus_id=CorpusId("c"),
    title="Keys",
    heading_path=(),
    text="Yearly.",
    source_path="k.md",
    version=1,
    token_count=1,
)


class Everything:
    """A retrieval that finds what it was given, and switches that are all on."""

    def __init__(self, *found: Passage) -> None:
        self._found = found

    def search(self, *_: object, **__: object) -> Retrieval:
        return Retrieval(passages=self._found, searched=(CorpusId("c"),))

    lookup = search

    def offer(self, offered: tuple[Tool, ...]) -> tuple[Tool, ...]:
        return offered


def list_tools(path: Path, *found: Passage) -> tuple[Tool, ...]:
    profile: Profile = FolderProfileAdapter(path.parent).fetch_profile(path.stem)
    every: Any = Everything(*found)
    return tools._build_tools(every, every, profile, ADA, Evidence(RunId("r")), NONCE)


def sample(schema: dict[str, Any]) -> dict[str, object]:
    """Return arguments that fit a tool's schema."""
    words: dict[str, object] = {"string": "keys", "integer": 1, "number": 1, "boolean": True, "array": []}
    return {name: words.get(cast("str", entry["type"]), {}) for name, entry in schema["properties"].items()}


def test_there_are_profiles_with_tools() -> None:
    assert any(list_tools(path) for path in PROFILES)


@pytest.mark.req("A-PROG-05", "F-LAT-02")
@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("found", [(), (PASSAGE,)], ids=["nothing found", "something found"])
def test_no_tool_lacks_a_label_and_a_sentence_for_its_end(path: Path, found: tuple[Passage, ...]) -> None:
    for tool in list_tools(path, *found):
        outcome = tool.run(sample(cast("dict[str, Any]", tool.spec.input_schema)))

        assert find_plain_text(tool.label), tool.spec.name
        assert outcome.ok, (tool.spec.name, outcome.content)
        assert find_plain_text(outcome.summary), (tool.spec.name, outcome.summary)


@pytest.mark.req("A-PROG-04", "A-PROG-05")
@pytest.mark.parametrize(
    "summary",
    [None, "", "  ", json.dumps({"passages": 2}), "[1, 2]", '"quoted"', "two\nlines", "x" * 201, '{"a":'],
)
def test_a_summary_that_is_no_sentence_becomes_the_plain_one(summary: str | None) -> None:
    assert derive_step_text(summary, None) == "Finished this step"
