"""What the table of providers says is what the adapters declare, and what they declare is what they do."""

import importlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from equerry.adapters.rounds.abilities import Abilities
from equerry.engine.messages import DocumentBlock, ImageBlock, Message, TextBlock
from equerry.engine.model import ModelRequest
from equerry.engine.thread import Thread
from equerry.ports.model import InputUnsupported
from equerry.runtime.models import KEYED, LIVE

from tests.contract.models.codex import open_desk, told, turn
from tests.contract.models.requests import PNG, SEARCH, ask, collect
from tests.contract.models.subjects import Kit

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"
PROVIDERS = (*LIVE, "codex")


def declared(provider: str) -> Abilities:
    found: Abilities = importlib.import_module(f"equerry.adapters.{provider}.abilities").ABILITIES
    return found


def read_table() -> dict[str, dict[str, str]]:
    """The page's table, by provider."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    names = [name.strip("`") for name in rows[0][1:]]
    return {name: {row[0]: row[place] for row in rows[2:]} for place, name in enumerate(names, start=1)}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_page_says_what_the_adapter_declares(provider: str) -> None:
    row = read_table()[provider]

    said = {
        name.replace(" ", "_"): cell for name, cell in row.items() if name not in ("wire", "settings", "key")
    }

    shown = {True: "yes", False: "no"}
    assert said == {name: shown.get(held, held) for name, held in asdict(declared(provider)).items()}
    assert ("`secret_arn`" in row["settings"]) is (provider in KEYED)


def test_the_page_has_every_provider_and_no_other() -> None:
    assert set(read_table()) == set(PROVIDERS)


def try_to(kit: Kit, request: ModelRequest) -> Any:
    """The body that a request becomes; None where it is refused."""
    with kit.serve() as server, kit.connect(server) as model:
        server.play(kit.forced if request.forced_tool else kit.answer)
        try:
            collect(model, request)
        except InputUnsupported:
            assert server.requests == []
            return None
        assert server.violations == []
        return server.requests[0]


def show(*blocks: ImageBlock | DocumentBlock) -> ModelRequest:
    return ask("", thread=Thread((Message("user", (*blocks, TextBlock("What is this?"))),)))


def test_images_and_documents_are_sent_or_refused_as_declared(kit: Kit) -> None:
    image = try_to(kit, show(ImageBlock(media_type="image/png", content=PNG)))
    document = try_to(kit, show(DocumentBlock(url="https://bucket.test/plan.pdf")))

    assert (image is not None) is declared(kit.name).images
    assert (document is not None) is declared(kit.name).documents


def test_a_long_prefix_is_cached_as_declared(kit: Kit) -> None:
    body = str(try_to(kit, ask(stable="Know this. " * 800)))

    found = (
        "marks"
        if re.search("cache_control|cachePoint", body)
        else "key"
        if "prompt_cache_key" in body
        else "automatic"
    )
    assert found == declared(kit.name).caching


def test_a_level_of_reasoning_is_passed_on_as_declared(kit: Kit) -> None:
    with_level, without = (try_to(kit, ask(reasoning=level)) for level in ("high", None))

    assert (with_level != without) is declared(kit.name).reasoning


def test_a_tool_is_forced_as_declared(kit: Kit) -> None:
    body = try_to(kit, ask(forced_tool=SEARCH.name))

    if "responseJsonSchema" in str(body):
        found = "json"
    else:
        found = "strict" if "'strict': True" in str(body) else "call"
    assert found == declared(kit.name).forced_tool


def test_the_command_line_does_what_it_declares() -> None:
    with open_desk() as desk:
        desk.play(*[turn(told("So."))] * 3)
        model = desk.connect()
        for level in ("high", None):
            collect(model, ask(reasoning=level))
        collect(model, ask(forced_tool=SEARCH.name))
        high, none, forced = (run["options"] for run in desk.runs)

    assert high["prompt"] == none["prompt"]
    assert f"Call `{SEARCH.name}`" in forced["prompt"]
