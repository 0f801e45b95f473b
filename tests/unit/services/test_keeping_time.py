"""A run whose model is silent still shows its text, beats, and hears that another has it."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

import pytest
from equerry.adapters.fixture.script import Pause, ScriptedRound, Step, replay
from equerry.channel.publisher import Publisher
from equerry.channel.timekeeping import keep_time
from equerry.engine.model import RoundEnd, TextDelta
from equerry.kernel.usage import Usage
from equerry.ports.delivery import EnvelopeExists

from tests.fakes.clock import FixedClock
from tests.unit.services.world import World

PATIENCE_S = 30.0


class HastyAlarm:
    """Rings soon, however long it is asked to wait: the clock of these tests does not move by itself."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    def wait(self, timeout: float) -> None:
        self._event.wait(min(timeout, 0.001))


class SilentClock(FixedClock):
    """When the model pauses, time passes at once, and the pause lasts until `heard` holds."""

    def __init__(self, heard: Callable[[], bool]) -> None:
        super().__init__()
        self._heard = heard

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._heard():
            assert time.monotonic() < deadline_s
            time.sleep(0.001)


class Scene:
    """One conversation with a reader, and a model that pauses until `heard`."""

    def __init__(self, *steps: Step, heard: Callable[["Scene"], bool]) -> None:
        end = RoundEnd(stop="end_turn", usage=Usage())
        self.publishers: list[Publisher] = []
        self.world = World(
            script=replay([ScriptedRound((*steps, end))]),
            clock=SilentClock(lambda: heard(self)),
            keep_time=self._keep_time,
        )
        conversation = self.world.open_conversation()
        self.reader = self.world.connect("reader")
        self.accepted = self.world.submit(conversation)
        self.world.sockets.subscribe(self.reader, conversation, run_id=self.accepted.run_id, after=0)

    def _keep_time(self, publisher: Publisher) -> AbstractContextManager[None]:
        self.publishers.append(publisher)
        return keep_time(publisher, alarm=HastyAlarm())

    def text(self) -> str:
        frames = self.world.frames(self.reader)
        return "".join(frame["payload"]["delta"] for frame in frames if frame["type"] == "token")

    def beats(self) -> int:
        return [frame["type"] for frame in self.world.frames(self.reader)].count("heartbeat")


def test_the_last_words_before_a_silence_are_shown_during_it() -> None:
    scene = Scene(
        TextDelta("Hello "), TextDelta("there."), Pause(1.0), heard=lambda s: s.text() == "Hello there."
    )

    assert scene.world.deliver(scene.accepted) == "answered"

    seqs = [frame["seq"] for frame in scene.world.frames(scene.reader) if frame["seq"]]
    assert seqs == list(range(1, len(seqs) + 1))
    assert scene.world.types(scene.accepted.run_id)[-1] == "done"


@pytest.mark.req("A-TURN-08")
def test_a_live_run_beats_while_its_model_is_silent() -> None:
    scene = Scene(Pause(16.0), TextDelta("Hm."), heard=lambda s: s.beats() == 1)

    scene.world.deliver(scene.accepted)

    assert scene.beats() == 1
    seqs = [envelope.seq for envelope in scene.world.envelopes(scene.accepted.run_id)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert "heartbeat" not in scene.world.types(scene.accepted.run_id)


def test_the_interval_of_text_is_the_deployment_s() -> None:
    scene = Scene(TextDelta("Hm."), heard=lambda _: True)
    scene.world.limits = replace(scene.world.limits, text_interval_ms=250)

    scene.world.deliver(scene.accepted)

    (publisher,) = scene.publishers
    assert publisher.text_interval_s == 0.25


def test_another_worker_that_is_found_out_in_a_silence_has_the_run_to_itself() -> None:
    def take_over(scene: Scene) -> bool:
        (publisher,) = scene.publishers
        with suppress(EnvelopeExists):
            last = scene.world.envelopes(scene.accepted.run_id)[-1]
            if last.payload.get("label") != "theirs":
                theirs = replace(last, type="step", seq=last.seq + 1, payload={"label": "theirs"})
                scene.world.log.append(theirs)
        # A model that would be silent for ever is left as well.
        return publisher.has_failed and scene.world.model.requests[0].cancellation.cancelled

    scene = Scene(TextDelta("a"), TextDelta("b"), Pause(1.0), TextDelta("c"), heard=take_over)

    assert scene.world.deliver(scene.accepted) == "not_ours"

    assert scene.world.envelopes(scene.accepted.run_id)[-1].payload == {"label": "theirs"}
    assert scene.world.store.runs[scene.accepted.run_id].status == "running"
    (request,) = scene.world.model.requests
    assert request.cancellation.cancelled


@pytest.mark.req("A-TURN-08")
def test_a_heartbeat_is_a_control_frame_that_no_log_keeps() -> None:
    world = World()
    conversation = world.open_conversation()
    reader = world.connect("reader")
    accepted = world.submit(conversation)
    world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)

    world.delivery.beat(accepted.run_id, conversation, last_seq=3)

    beat = world.frames(reader)[-1]
    assert (beat["type"], beat["seq"], beat["payload"]) == ("heartbeat", 0, {"lastSeq": 3})
    assert (beat["runId"], beat["conversationId"]) == (accepted.run_id, conversation)
    assert world.envelopes(accepted.run_id) == ()


def test_a_heartbeat_asks_once_who_listens_and_forgets_who_is_gone() -> None:
    world = World()
    conversation = world.open_conversation()
    readers = [world.connect(name) for name in ("one", "two")]
    accepted = world.submit(conversation)
    for reader in readers:
        world.sockets.subscribe(reader, conversation, run_id=accepted.run_id, after=0)
    world.channel.close_socket(readers[0])

    world.delivery.beat(accepted.run_id, conversation, last_seq=1)

    assert world.connections.find_principal(readers[0]) is None
    assert world.frames(readers[1])[-1]["type"] == "heartbeat"
