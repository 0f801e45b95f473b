"""A forced call's arguments can be shown while they come; those of other calls are signs of life."""

import json

import pytest
from equerry.engine.model import ArgumentsDelta, ToolCallReady

from tests.contract.models.requests import SEARCH, ask
from tests.contract.models.subjects import KITS, Kit

IN_PIECES = tuple(kit for kit in KITS if kit.name in ("anthropic", "openai", "bedrock"))


@pytest.mark.req("A-SCST-08")
@pytest.mark.parametrize("kit", IN_PIECES, ids=lambda kit: kit.name)
@pytest.mark.parametrize("forced", [True, False])
def test_arguments_are_shown_where_the_call_was_forced(kit: Kit, *, forced: bool) -> None:
    with kit.serve() as server, kit.connect(server) as model:
        # Nothing thinks where a tool is forced, so the thought before the call is left to the other case.
        server.play(tuple(kit.call))
        events = list(model.stream(ask(forced_tool=SEARCH.name if forced else None)))

    shown = [event.text for event in events if isinstance(event, ArgumentsDelta)]
    (called,) = [event.call for event in events if isinstance(event, ToolCallReady)]
    assert bool(shown) is forced
    if forced:
        assert len(shown) > 1
        assert json.loads("".join(shown)) == called.arguments
