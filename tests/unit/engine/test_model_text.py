"""What no store can keep leaves the engine as text that every store can."""

import json
from collections.abc import Mapping

import pytest
from equerry.adapters.fixture.model import FixtureModelAdapter
from equerry.adapters.fixture.script import ScriptedRound, fail, replay, say
from equerry.engine.loop_events import TextProduced, ToolFinished
from equerry.engine.messages import TextBlock
from equerry.engine.model import RoundEnd, StillWorking, TextDelta, ThinkingDelta
from equerry.engine.run_loop import RunOutcome
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelUnavailable

from tests.fakes.clock import FixedClock
from tests.unit.engine.playing import ProbeTool, ask, run, wish
from tests.unit.engine.test_run_loop import Model

SMILE = "\N{SLIGHTLY SMILING FACE}"
FIRST, SECOND = "\ud83d", "\ude42"


def listen(*rounds: ScriptedRound) -> tuple[RunOutcome, list[str]]:
    outcome, events = run(Model(*rounds).stream)
    return outcome, [event.text for event in events if isinstance(event, TextProduced)]


@pytest.mark.parametrize(
    ("deltas", "heard"),
    [
        (["a\x00b"], ["ab"]),
        (["a", "\x00", "b"], ["a", "b"]),
        ([f"a{FIRST}", f"{SECOND}b"], ["a", f"{SMILE}b"]),
        ([FIRST, SECOND], [SMILE]),
        ([FIRST, "b"], ["\ufffdb"]),
        ([FIRST, FIRST, SECOND], ["\ufffd", SMILE]),
        (["a", SECOND], ["a", "\ufffd"]),
        ([f"a{FIRST}"], ["a", "\ufffd"]),
        ([f"{SMILE}שלום", "\u202eabc\u0301"], [f"{SMILE}שלום", "\u202eabc\u0301"]),
    ],
)
def test_words_are_mended_and_otherwise_left_alone(deltas: list[str], heard: list[str]) -> None:
    outcome, texts = listen(say(*deltas))

    assert texts == heard
    assert outcome.text == "".join(heard)
    assert outcome.thread.messages[-1].blocks == (TextBlock("".join(heard)),)


def test_signs_of_life_between_the_halves_of_a_character_do_not_part_them() -> None:
    steps = (TextDelta(FIRST), StillWorking(), ThinkingDelta("hm"), TextDelta(SECOND))

    played = replay([ScriptedRound((*steps, RoundEnd(stop="end_turn", usage=Usage())))])

    _, events = run(FixtureModelAdapter(FixedClock(), script=played).stream)

    assert [event.text for event in events if isinstance(event, TextProduced)] == [SMILE]


def test_half_a_character_at_which_a_round_breaks_off_is_not_kept() -> None:
    outcome, texts = listen(fail(ModelUnavailable("gone"), TextDelta(f"a{FIRST}")))

    assert outcome.stop == "error"
    assert texts == ["a"]


@pytest.mark.parametrize("arguments", [{"q": "a\x00b"}, {"a\x00b": 1}, {"q": [{"deep": ["\x00"]}]}])
def test_arguments_that_no_store_can_keep_reach_no_tool(arguments: Mapping[str, object]) -> None:
    tool = ProbeTool()

    outcome, events = run(Model(ask(wish("probe", "c", **arguments)), say("Done.")).stream, tool)

    assert tool.heard == []
    assert [event.failure for event in events if isinstance(event, ToolFinished)] == ["invalid_arguments"]
    kept = [call.arguments for message in outcome.thread.messages for call in message.tool_calls]
    assert "\\u0000" not in json.dumps(kept)
