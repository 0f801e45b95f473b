"""An answer that takes longer than a connection may be silent."""

import json

import pytest
from equerry.adapters.rounds.attempt import Timeouts
from equerry.runtime.completion import CompletionApp
from equerry.runtime.completion_parts import CompletionParts
from equerry.services.completion import ChosenModel, CompletionService

from tests.completions import ANSWER, Context, capture_log, payload
from tests.contract.models.subjects import ANTHROPIC, RealClock
from tests.fakes.switches import MemorySwitchAdapter
from tests.strict.anthropic_events import Stall, message, tool

IDLE_S, PAUSE_S = 1.5, 0.4
TEXT = json.dumps(ANSWER)


@pytest.mark.req("A-SCMP-11")
def test_a_caller_who_waits_gets_one_response_out_of_a_stream_that_is_slow() -> None:
    pieces = [TEXT[at : at + 12] for at in range(0, len(TEXT), 12)]
    events = message(tool(*pieces, name="emit"), stop="tool_use")
    slowly = tuple(item for event in events for item in (Stall(PAUSE_S), event))
    assert len(slowly) // 2 * PAUSE_S > 2 * IDLE_S

    with (
        ANTHROPIC.serve() as provider,
        ANTHROPIC.connect(provider, timeouts=Timeouts(connect=5, idle=IDLE_S, first_event=30)) as model,
        capture_log(),
    ):
        provider.play(slowly)
        service = CompletionService(
            choose=lambda _: ChosenModel(choice=model.choice, model=model, reasoning="medium"),
            switch=MemorySwitchAdapter(),
            clock=RealClock(),
            max_output_tokens=64_000,
            longest_s=400,
        )
        app = CompletionApp(CompletionParts(service=service, hosts=frozenset()))
        response = app(payload(), Context(420_000))

    assert response["output"] == ANSWER
    (asked,) = provider.requests
    # In one piece it would have been silence to the end, and the SDK refuses as many tokens in one.
    assert asked["stream"] is True
    assert asked["max_tokens"] == 64_000
