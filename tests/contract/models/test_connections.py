"""A round leaves its connection to the next: opening one takes longer than many an answer's first word."""

import gc
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from equerry.adapters.anthropic.model import connect_anthropic
from equerry.adapters.google.model import connect_google
from equerry.adapters.openai.model import connect_openai
from equerry.adapters.rounds.attempt import Timeouts
from equerry.engine.model import RoundEnd
from equerry.kernel.errors import EquerryError
from equerry.runtime.clock import SystemClock

from tests.contract.models.requests import ask, collect, text_of
from tests.contract.models.subjects import KITS, Kit
from tests.strict import google_server
from tests.strict.anthropic_server import KEY
from tests.strict.replies import Drop, Failure, Stall
from tests.strict.server import StrictServer

WORDS = "Widgets are painted."


@pytest.fixture
def server(kit: Kit) -> Iterator[StrictServer]:
    with kit.serve() as running:
        running.keeps_alive = True
        yield running


def test_rounds_that_follow_each_other_share_a_connection(kit: Kit, server: StrictServer) -> None:
    server.play(kit.answer, kit.call, kit.answer)

    with kit.connect(server) as model:
        ended = [collect(model, ask())[-1] for _ in range(3)]

    assert [type(event) for event in ended] == [RoundEnd] * 3
    assert server.connections == 1


def test_one_that_its_provider_closed_meanwhile_is_opened_anew(kit: Kit, server: StrictServer) -> None:
    server.play((*kit.answer, Drop()), kit.answer)

    with kit.connect(server) as model:
        said = [text_of(collect(model, ask())) for _ in range(2)]

    assert said == [WORDS, WORDS]


def test_an_answer_that_does_not_end_after_its_end_is_not_waited_for(kit: Kit, server: StrictServer) -> None:
    server.play((*kit.answer, Stall(60)), kit.answer)

    with kit.connect(server, timeouts=Timeouts(connect=1, idle=60, first_event=60)) as model:
        first = collect(model, ask())

        # Left alone, the server would have ended the answer by itself.
        assert server.hung_up.wait(30)
        assert text_of(first) == WORDS
        assert text_of(collect(model, ask())) == WORDS


def test_a_round_that_is_left_halfway_takes_its_connection_along(kit: Kit, server: StrictServer) -> None:
    server.play((*kit.answer[: kit.half], Stall(60)), Failure(500, "api_error"), kit.answer)

    with kit.connect(server, timeouts=Timeouts(connect=1, idle=60, first_event=60)) as model:
        left = model.stream(ask())
        next(left)
        left.close()

        assert server.hung_up.wait(30)
        assert text_of(collect(model, ask())) == WORDS


@pytest.mark.parametrize("connect", [connect_anthropic, connect_google, connect_openai])
def test_a_model_that_nobody_uses_any_more_leaves_no_connection_open(connect: Any) -> None:
    kit = next(kit for kit in KITS if kit.name in connect.__name__)
    with kit.serve() as server, warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        server.keeps_alive = True
        server.play(kit.answer)
        key = google_server.KEY if kit.name == "google" else KEY
        models = [
            connect(model="m", api_key=key, base_url=server.url, clock=SystemClock(), jitter=lambda: 0.0)
        ]
        models.append(models)  # a cycle, whose parts end in any order
        with suppress(EquerryError):
            collect(models[0], ask(attempts=1))

        del models
        gc.collect()

    assert server.connections == 1
    assert [str(warning.message) for warning in left if warning.category is ResourceWarning] == []
