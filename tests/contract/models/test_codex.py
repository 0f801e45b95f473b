"""The local command line: what it is given, what is read from it, and that it never outlives its round."""

import threading
import time
from collections.abc import Iterator

import pytest
from equerry.adapters.codex.model import INHERITED
from equerry.engine.messages import DocumentBlock, ImageBlock, Message, TextBlock
from equerry.engine.model import ModelEvent, TextDelta, ThinkingDelta, ToolCallReady
from equerry.engine.thread import Thread
from equerry.kernel.usage import Usage
from equerry.ports.model import InputUnsupported, ModelCancelled, ModelUnavailable, ModelUnusable
from equerry.runtime.clock import SystemClock

from tests.contract.models.codex import Desk, message, open_desk, reasoning, told, turn
from tests.contract.models.requests import SEARCH, ask, collect, end_of, resolve, text_of
from tests.unit.engine.playing import ProbeTool, run


@pytest.fixture
def desk() -> Iterator[Desk]:
    with open_desk() as made:
        yield made


def calls(events: list[ModelEvent]) -> list[tuple[str, dict[str, object], bool]]:
    ready = [event.call for event in events if isinstance(event, ToolCallReady)]
    return [(call.tool, dict(call.arguments), call.problem is not None) for call in ready]


@pytest.mark.req("A-PROV-02")
def test_the_prompt_goes_in_by_standard_input_and_nothing_of_ours_by_the_environment(desk: Desk) -> None:
    desk.play(turn(message("So.")))

    collect(desk.connect(), ask("the merger is on Friday", tools=(), dynamic="Today is Monday."))

    (asked,) = desk.runs
    assert "the merger is on Friday" in asked["options"]["prompt"]
    assert "Today is Monday." in asked["options"]["prompt"]
    assert not [value for name, value in asked["options"].items() if name != "prompt" and "merger" in value]
    assert not {"AWS_SECRET_ACCESS_KEY", "OTHER"} & asked["environment"].keys()
    assert not {name for name in INHERITED if "KEY" in name or "TOKEN" in name or "SECRET" in name}
    assert "a-secret" not in asked["environment"].values()


def test_it_runs_read_only_in_an_empty_folder_without_the_persons_settings(desk: Desk) -> None:
    desk.play(turn(message("So.")))

    collect(desk.connect(), ask(tools=()))

    (asked,) = desk.runs
    assert asked["options"]["--sandbox"] == "read-only"
    assert {"--ephemeral", "--ignore-user-config", "--ignore-rules"} <= asked["options"].keys()
    assert asked["options"]["--model"] == "codex-test-1"
    assert asked["folder"] == []
    assert asked["schema"] is None


def test_only_the_last_message_is_the_answer(desk: Desk) -> None:
    desk.play(turn(reasoning("Hm."), message("I will look."), message("Widgets are painted.")))

    events = collect(desk.connect(), ask(tools=()))

    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["Hm.", "I will look."]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Widgets are painted."]
    assert end_of(events).usage == Usage(
        input_tokens=331, output_tokens=42, cached_input_tokens=300, reasoning_tokens=7
    )


@pytest.mark.req("A-PROV-10", "A-PROV-11")
def test_our_tools_are_called_by_our_loop(desk: Desk) -> None:
    desk.play(turn(told("Let me look.", (SEARCH.name, '{"query": "w"}'))), turn(told("Widgets are painted.")))

    outcome, _ = run(desk.connect().stream, ProbeTool(SEARCH.name), clock=SystemClock())

    assert outcome.stop == "end_turn"
    assert outcome.text.endswith("Widgets are painted.")
    second = desk.runs[1]["options"]["prompt"]
    assert f"(called `{SEARCH.name}`" in second
    assert desk.runs[0]["schema"]["properties"]["calls"]["items"]["properties"]["tool"]["enum"] == [
        SEARCH.name
    ]


@pytest.mark.parametrize(
    ("answer", "stop", "found"),
    [
        (told("", (SEARCH.name, "{}")), "tool_use", [(SEARCH.name, {}, False)]),
        (told("", (SEARCH.name, '{"query": ')), "tool_use", [(SEARCH.name, {}, True)]),
        (told("", ("shell", "{}")), "malformed", []),
        (message("Widgets are painted."), "malformed", []),
        (message('{"text": "x"}'), "malformed", []),
        (message('{"text": "x", "calls": [1]}'), "malformed", []),
    ],
)
def test_what_is_no_answer_of_the_shape_is_handed_over_as_nothing(
    desk: Desk, answer: dict[str, object], stop: str, found: list[object]
) -> None:
    desk.play(turn(answer))

    events = collect(desk.connect(), ask())

    assert (end_of(events).stop, calls(events)) == (stop, found)


def test_calls_are_left_out_where_none_are_allowed(desk: Desk) -> None:
    desk.play(turn(told("So.", (SEARCH.name, "{}"))))

    events = collect(desk.connect(), ask(tools_allowed=False))

    assert (calls(events), text_of(events), end_of(events).stop) == ([], "So.", "end_turn")


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (ImageBlock(media_type="image/png", content=b"x"), "image_input_unsupported"),
        (DocumentBlock(url="https://bucket.test/x.pdf"), "documents_unsupported"),
    ],
)
def test_pictures_and_documents_are_refused_and_nothing_is_started(
    desk: Desk, block: ImageBlock | DocumentBlock, code: str
) -> None:
    with pytest.raises(InputUnsupported) as caught:
        collect(desk.connect(), ask("", thread=Thread((Message("user", (block, TextBlock("?"))),))))

    assert caught.value.code == code
    assert desk.runs == []


FAILED = {"type": "turn.failed", "error": {"message": "the merger is on Friday"}}


@pytest.mark.parametrize(
    "fault",
    [
        turn(end=FAILED),
        turn(end={"exit": 1}),
        turn(end={"exit": 0}),
        [{"raw": "{oops"}],
        [{"type": "error", "message": "x"}, {"exit": 1}],
        [{"exit": 137}],
    ],
)
def test_a_run_that_fails_is_tried_again_and_its_words_are_not_repeated(
    desk: Desk, fault: list[object]
) -> None:
    desk.play(fault, fault)  # type: ignore[arg-type]  # what a test says

    with pytest.raises(ModelUnavailable) as caught:
        collect(desk.connect(), ask(tools=()))

    assert len(desk.runs) == 2
    assert "merger" not in str(caught.value)


def test_a_notice_of_an_error_is_not_the_end(desk: Desk) -> None:
    desk.play(turn({"type": "error", "message": "Reconnecting... 1/5"}, message("So.")))

    assert text_of(collect(desk.connect(), ask(tools=()))) == "So."


def test_a_command_that_is_not_there_makes_the_model_unusable(desk: Desk) -> None:
    with pytest.raises(ModelUnusable):
        collect(desk.connect("/nowhere/codex"), ask())


def test_the_deadline_kills_the_command(desk: Desk) -> None:
    desk.play([{"type": "thread.started", "thread_id": "t"}, {"sleep": 60}])

    with pytest.raises(ModelUnavailable, match="deadline"):
        collect(desk.connect(), ask(deadline_s=1.0))

    assert not desk.is_running()


def test_a_cancellation_kills_the_command(desk: Desk) -> None:
    desk.play([{"sleep": 60}])
    request = ask()

    def cancel_once_it_runs() -> None:
        while not desk.runs:
            time.sleep(0.02)
        request.cancellation.cancel()

    threading.Thread(target=cancel_once_it_runs).start()
    with pytest.raises(ModelCancelled):
        collect(desk.connect(), request)

    assert not desk.is_running()


def test_a_reader_that_leaves_kills_the_command(desk: Desk) -> None:
    desk.play([reasoning("Hm."), {"sleep": 60}])
    stream = desk.connect().stream(ask())

    next(stream)
    stream.close()

    assert not desk.is_running()


def test_a_past_with_calls_is_written_out(desk: Desk) -> None:
    desk.play(turn(told("", (SEARCH.name, '{"query": "w"}'))), turn(told("So.")))
    model, request = desk.connect(), ask()

    collect(model, resolve(request, collect(model, request), "Nothing was found."))

    prompt = desk.runs[1]["options"]["prompt"]
    assert (
        prompt.index("How are widgets painted?")
        < prompt.index('{"query": "w"}')
        < prompt.index("Nothing was found.")
    )
