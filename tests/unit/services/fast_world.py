"""A world whose profile answers pages and help without a model."""

from typing import Any

from equerry.domain.catalogue import read_catalogue
from equerry.domain.fast_path import FastPath
from equerry.domain.profiles import Profile
from equerry.domain.turn_context import TurnContext
from equerry.kernel.identifiers import CorpusId
from equerry.services.turns import Acceptance

from tests.fakes.catalogues import MemoryCatalogueAdapter
from tests.fakes.documents import MemoryDocumentAdapter
from tests.fakes.profiles import MemoryProfileAdapter
from tests.unit.services.library import publish_help
from tests.unit.services.world import ADA, World

GO = "Take me to the dashboard"
HOW = "How do I import rates?"
OTHER = "Which rate is cheapest?"
CATALOGUE = read_catalogue(
    "pages",
    [
        {"id": "dashboard", "label": "Dashboard", "path": "/dashboard"},
        {"id": "rates", "label": "Rates", "path": "/projects/:projectId/rates"},
    ],
)
PROFILE = Profile(
    name="docs",
    version="v1",
    title="Docs",
    identity="You help.",
    guidance="Search first.",
    fast_path=FastPath(catalogue="pages", help=(CorpusId("help"),)),
)


def fast_world(**changed: Any) -> World:
    world = World(
        profiles=MemoryProfileAdapter(PROFILE), catalogues=MemoryCatalogueAdapter(CATALOGUE), **changed
    )
    article = {"Import rates": "Choose Import and pick a file."}
    publish_help(MemoryDocumentAdapter(world.library), "rates.md", "Rates", article)
    return world


def ask(world: World, text: str, context: TurnContext | None = None) -> Acceptance:
    return world.turns.submit(ADA, world.open_conversation(), text, context=context)


def sent(world: World) -> list[str]:
    """Return what the entry point asked of the queue."""
    return [effect for effect in world.entry_fate.effects if effect.startswith("queue.")]


def answer_of(world: World, accepted: Acceptance) -> str:
    (said,) = [m for m in world.store.messages[accepted.conversation_id] if m.role == "assistant"]
    return said.text


def assert_ended_once(world: World, accepted: Acceptance) -> None:
    types = world.types(accepted.run_id)
    assert [e.seq for e in world.envelopes(accepted.run_id)] == list(range(1, len(types) + 1))
    assert (types[0], types[-1], types.count("done")) == ("accepted", "done", 1)
    run = world.store.runs[accepted.run_id]
    assert run.status == "ended"
    assert len([m for m in world.store.messages[run.conversation_id] if m.role == "assistant"]) <= 1
    assert world.leases.find_lease(run.conversation_id) is None
    assert sum(world.admissions.windows[ADA.organisation_id].hours.values()) == run.usage.tokens
