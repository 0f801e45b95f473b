"""Events are numbered, kept before they are sent, and text is merged."""

from contextlib import suppress
from dataclasses import dataclass

import pytest
from equerry.channel.envelope import Envelope, UndeclaredEvent, describe_event
from equerry.channel.events import (
    EVENT_TYPES,
    CitationRef,
    Citations,
    Done,
    Event,
    Step,
    Token,
    ToolEnd,
    UiAction,
)
from equerry.channel.publisher import HEARTBEAT_S, MAX_TEXT_CHARS, TEXT_INTERVAL_S, Publisher
from equerry.channel.report import DeliveryOutcome
from equerry.kernel.errors import Conflict, Unavailable
from equerry.kernel.identifiers import (
    ConversationId,
    DocumentId,
    MessageId,
    PassageId,
    RunId,
    ToolCallId,
)
from equerry.kernel.usage import Usage
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.clock import FixedClock


class Recorder:
    """Keeps what happened, in order."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.happened: list[tuple[str, Envelope]] = []
        self.beats: list[int] = []
        self.failure = failure

    def persist(self, envelope: Envelope) -> Envelope:
        if self.failure is not None:
            raise self.failure
        self.happened.append(("persist", envelope))
        return envelope

    def deliver(self, envelope: Envelope) -> DeliveryOutcome:
        self.happened.append(("deliver", envelope))
        return DeliveryOutcome(reached=1)

    def beat(self, run_id: RunId, conversation_id: ConversationId, *, last_seq: int) -> None:
        assert (run_id, conversation_id) == ("r", "c")
        self.beats.append(last_seq)

    @property
    def delivered(self) -> list[Envelope]:
        return [envelope for what, envelope in self.happened if what == "deliver"]


def publisher(recorder: Recorder, clock: FixedClock | None = None, last_seq: int = 0) -> Publisher:
    return Publisher(
        run_id=RunId("r"),
        conversation_id=ConversationId("c"),
        broadcaster=recorder,
        clock=clock or FixedClock(),
        last_seq=last_seq,
    )


@pytest.mark.req("F-ENV-06")
def test_every_envelope_is_kept_before_it_is_sent_and_numbered_without_gaps() -> None:
    recorder = Recorder()
    writer = publisher(recorder)

    writer.publish(Step(stage="composing", label="Reading"))
    writer.publish(Done(stop_reason="end_turn", usage=Usage()))

    assert [(what, envelope.seq) for what, envelope in recorder.happened] == [
        ("persist", 1),
        ("deliver", 1),
        ("persist", 2),
        ("deliver", 2),
    ]


def test_an_envelope_that_could_not_be_kept_is_not_sent_and_uses_no_number() -> None:
    recorder = Recorder(ConnectionError("the log is down"))
    writer = publisher(recorder)

    with pytest.raises(ConnectionError):
        writer.publish(Step(stage="composing", label="Reading"))

    assert recorder.happened == []
    assert writer.last_seq == 0


def test_a_resumed_run_goes_on_after_its_last_envelope() -> None:
    recorder = Recorder()

    publisher(recorder, last_seq=7).publish(Step(stage="composing", label="Reading"))

    assert recorder.delivered[0].seq == 8


def test_text_within_the_interval_is_one_frame_and_comes_before_what_follows() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)

    for word in ("The ", "first ", "goes ", "at once, ", "the ", "rest "):
        writer.publish(Token(delta=word))
    clock.advance(TEXT_INTERVAL_S)
    writer.publish(Token(delta="together"))
    writer.publish(ToolEnd(tool_call_id=ToolCallId("t"), ok=True))

    deltas = [envelope.payload.get("delta") for envelope in recorder.delivered]
    assert deltas == ["The ", "first goes at once, the rest together", None]


def test_text_that_waits_is_sent_by_flush() -> None:
    recorder = Recorder()
    writer = publisher(recorder)
    writer.publish(Token(delta="a"))
    writer.publish(Token(delta="b"))

    writer.flush()
    writer.flush()

    assert [envelope.payload["delta"] for envelope in recorder.delivered] == ["a", "b"]


def test_text_is_shown_at_its_time_also_when_the_model_falls_silent() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    writer.publish(Token(delta="The "))
    clock.advance(TEXT_INTERVAL_S / 4)
    writer.publish(Token(delta="end"))

    due_in_s = writer.tick()
    assert [envelope.payload["delta"] for envelope in recorder.delivered] == ["The "]
    clock.advance(due_in_s)
    writer.tick()

    assert due_in_s == pytest.approx(TEXT_INTERVAL_S * 3 / 4)
    assert [envelope.payload["delta"] for envelope in recorder.delivered] == ["The ", "end"]


def test_whoever_keeps_time_is_told_when_text_begins_to_wait() -> None:
    told: list[str] = []
    writer = publisher(Recorder())
    writer.on_text_waiting = lambda: told.append("waiting")

    for word in ("at once ", "waits ", "joins it"):
        writer.publish(Token(delta=word))

    assert told == ["waiting"]


def test_another_interval_is_kept_where_one_is_set() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    writer.text_interval_s = 1.0
    writer.publish(Token(delta="a"))
    clock.advance(0.9)
    writer.publish(Token(delta="b"))
    assert len(recorder.delivered) == 1
    clock.advance(0.1)

    writer.tick()

    assert len(recorder.delivered) == 2


@pytest.mark.req("A-TURN-08")
def test_a_live_run_that_says_nothing_beats_every_15_seconds_and_outside_its_log() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    writer.publish(Step(stage="answering", label="Thinking"))

    for _ in range(45):
        writer.tick()
        clock.advance(1)
    writer.tick()

    assert HEARTBEAT_S == 15
    assert recorder.beats == [1, 1, 1]
    assert writer.last_seq == 1
    assert writer.report.envelopes == 1


def test_whatever_is_sent_puts_the_next_heartbeat_off() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    for _ in range(10):
        writer.publish(Step(stage="answering", label="Thinking"))
        clock.advance(HEARTBEAT_S - 1)
        writer.tick()

    assert recorder.beats == []


@pytest.mark.req("A-EVT-13")
def test_after_done_nothing_is_sent_by_anybody() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    writer.publish(Token(delta="a"))
    writer.publish(Token(delta="b"))
    writer.publish(Done(stop_reason="end_turn", usage=Usage()))

    clock.advance(1_000)
    writer.tick()

    for late in (Token(delta="c"), Step(stage="answering", label="Late")):
        with pytest.raises(ValueError, match="nothing may follow"):
            writer.publish(late)
    assert [envelope.type for envelope in recorder.delivered] == ["token", "token", "done"]
    assert recorder.beats == []


def test_another_writer_found_out_by_a_tick_ends_the_run_at_its_next_word() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    writer.publish(Token(delta="a"))
    writer.publish(Token(delta="b"))
    recorder.failure = Conflict("another has written 2")
    clock.advance(1)

    with pytest.raises(Conflict):
        writer.tick()
    recorder.failure = None

    with pytest.raises(Conflict, match="another has written 2"):
        writer.publish(Token(delta="c"))
    with pytest.raises(Conflict, match="another has written 2"):
        writer.flush()
    clock.advance(1_000)
    writer.tick()
    assert len(recorder.happened) == 2
    assert recorder.beats == []


def test_text_that_the_store_did_not_take_is_kept_and_sent_later_in_its_place() -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    writer.publish(Token(delta="a"))
    writer.publish(Token(delta="b"))
    recorder.failure = Unavailable("throttled")
    clock.advance(1)
    assert writer.tick() == pytest.approx(TEXT_INTERVAL_S)
    writer.publish(Token(delta="c"))
    recorder.failure = None

    writer.publish(Step(stage="answering", label="On"))

    assert [envelope.payload.get("delta") for envelope in recorder.delivered] == ["a", "bc", None]
    assert [envelope.seq for envelope in recorder.delivered] == [1, 2, 3]


def test_text_longer_than_a_frame_is_several_frames() -> None:
    recorder = Recorder()
    text = "".join(str(number % 10) for number in range(2 * MAX_TEXT_CHARS + 1))

    publisher(recorder).publish(Token(delta=text))

    sent = [str(envelope.payload["delta"]) for envelope in recorder.delivered]
    assert [len(delta) for delta in sent] == [MAX_TEXT_CHARS, MAX_TEXT_CHARS, 1]
    assert "".join(sent) == text


@given(st.lists(st.text(min_size=1, max_size=9_000), max_size=6))
def test_no_text_is_lost_reordered_or_too_long_for_a_frame(deltas: list[str]) -> None:
    recorder = Recorder()
    writer = publisher(recorder)

    for delta in deltas:
        writer.publish(Token(delta=delta))
    writer.flush()

    sent = [str(envelope.payload["delta"]) for envelope in recorder.delivered]
    assert "".join(sent) == "".join(deltas)
    assert all(0 < len(delta) <= MAX_TEXT_CHARS for delta in sent)


@pytest.mark.req("F-ENV-03")
def test_an_undeclared_event_fails_at_publication_and_sends_nothing() -> None:
    @dataclass(frozen=True)
    class Surprise:
        what: str = "boo"

    recorder = Recorder()
    undeclared: Event = Surprise()  # type: ignore[assignment]  # what the check at publication is for

    with pytest.raises(UndeclaredEvent, match="Surprise"):
        publisher(recorder).publish(undeclared)

    assert recorder.happened == []


def test_what_must_be_true_by_the_time_of_delivery_runs_after_persisting() -> None:
    recorder = Recorder()
    order: list[str] = []

    publisher(recorder).publish(
        Done(stop_reason="end_turn", usage=Usage()),
        before_delivery=lambda: order.extend(what for what, _ in recorder.happened),
    )

    assert order == ["persist"]


def test_what_was_kept_is_sent_although_what_should_come_first_fails() -> None:
    recorder = Recorder()

    def fail() -> None:
        raise ConnectionError("the lease cannot be given back")

    with pytest.raises(ConnectionError):
        publisher(recorder).publish(Done(stop_reason="end_turn", usage=Usage()), before_delivery=fail)

    assert [envelope.type for envelope in recorder.delivered] == ["done"]


@pytest.mark.req(
    "A-EVT-01", "A-EVT-02", "A-EVT-03", "A-EVT-04", "A-EVT-05", "A-EVT-06", "A-EVT-07", "A-EVT-12", "A-EVT-13"
)
def test_the_vocabulary_has_the_names_and_fields_readers_rely_on() -> None:
    fields = {name: set(payload.__dataclass_fields__) for name, payload in EVENT_TYPES.items()}

    assert fields["token"] == {"delta"}
    assert fields["tool_start"] == {"tool_call_id", "tool", "label"}
    assert fields["tool_end"] == {"tool_call_id", "ok", "summary"}
    assert "action" in fields["ui_action"]
    assert fields["citations"] == {"message_id", "refs"}
    assert fields["message"] == {"message_id", "role"}
    assert fields["continuation_claimed"] == {"draft_id"}
    assert fields["error"] == {"code", "message"}
    assert fields["done"] == {"stop_reason", "usage"}


@pytest.mark.req("F-ENV-04")
def test_the_vocabulary_covers_every_kind_of_news() -> None:
    assert {
        "accepted",
        "token",
        "step",
        "artifact",
        "citations",
        "proposal",
        "suggestion",
        "error",
        "done",
    } <= set(EVENT_TYPES)


@pytest.mark.req("F-ENV-05")
def test_on_the_wire_names_are_camel_case_and_absent_values_are_left_out() -> None:
    recorder = Recorder()
    publisher(recorder).publish(ToolEnd(tool_call_id=ToolCallId("t1"), ok=False))

    assert recorder.delivered[0].to_wire() == {
        "v": 1,
        "type": "tool_end",
        "runId": "r",
        "conversationId": "c",
        "seq": 1,
        "at": "2031-05-06T12:00:00.000Z",
        "payload": {"toolCallId": "t1", "ok": False},
    }


def test_nested_payloads_are_camel_case_too() -> None:
    ref = CitationRef(
        n=1,
        passage_id=PassageId("p"),
        document_id=DocumentId("d"),
        title="T",
        heading_path=("A", "B"),
        quote="q",
        source_path="a.md",
    )

    _, payload = describe_event(Citations(message_id=MessageId("m"), refs=(ref,)))

    assert payload["refs"] == [
        {
            "n": 1,
            "passageId": "p",
            "documentId": "d",
            "title": "T",
            "headingPath": ["A", "B"],
            "quote": "q",
            "sourcePath": "a.md",
        }
    ]


@pytest.mark.req("A-EVT-04")
def test_a_ui_action_spreads_its_details() -> None:
    assert describe_event(UiAction(action="navigate", details={"to": "/x"})) == (
        "ui_action",
        {"action": "navigate", "to": "/x"},
    )


def _make(move: str, what: str, writer: Publisher, recorder: Recorder, clock: FixedClock) -> None:
    match move:
        case "text":
            writer.publish(Token(delta=what))
        case "event":
            writer.publish(Step(stage="answering", label="On"))
        case "flush":
            writer.flush()
        case "tick":
            assert writer.tick() > 0
        case "wait":
            clock.advance(float(what))
        case "store":
            recorder.failure = Unavailable("throttled") if what == "down" else None


Moves = st.lists(
    st.one_of(
        st.text(alphabet="abc⟦1⟧ü🙂", min_size=1, max_size=20).map(lambda text: ("text", text)),
        st.sampled_from([("event", ""), ("flush", ""), ("tick", "")]),
        st.sampled_from([0.001, 0.02, 0.04, 5.0, 16.0]).map(lambda seconds: ("wait", str(seconds))),
        st.sampled_from([("store", "down"), ("store", "up")]),
    ),
    max_size=60,
)


@pytest.mark.req("F-ENV-06", "F-ENV-07")
@given(Moves)
def test_however_text_events_and_ticks_interleave_the_story_is_whole_and_in_order(
    moves: list[tuple[str, str]],
) -> None:
    recorder, clock = Recorder(), FixedClock()
    writer = publisher(recorder, clock)
    for move, what in moves:
        with suppress(Unavailable):
            _make(move, what, writer, recorder, clock)
    recorder.failure = None
    writer.publish(Done(stop_reason="end_turn", usage=Usage()))
    clock.advance(100)
    writer.tick()

    assert [envelope.seq for envelope in recorder.delivered] == list(range(1, writer.last_seq + 1))
    deltas = [str(e.payload["delta"]) for e in recorder.delivered if e.type == "token"]
    assert "".join(deltas) == "".join(what for move, what in moves if move == "text")
    assert [e.type for e in recorder.delivered].index("done") == len(recorder.delivered) - 1
    kept = [envelope for what, envelope in recorder.happened if what == "persist"]
    assert kept == recorder.delivered
