"""Events are numbered, kept before they are sent, and text is merged."""

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
from equerry.channel.publisher import MAX_TEXT_CHARS, TEXT_INTERVAL_S, Publisher
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

    def __init__(self, *, broken: bool = False) -> None:
        self.happened: list[tuple[str, Envelope]] = []
        self._broken = broken

    def persist(self, envelope: Envelope) -> None:
        if self._broken:
            raise ConnectionError("the log is down")
        self.happened.append(("persist", envelope))

    def deliver(self, envelope: Envelope) -> None:
        self.happened.append(("deliver", envelope))

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
    recorder = Recorder(broken=True)
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
