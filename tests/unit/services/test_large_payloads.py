"""An event that no frame could carry arrives whole all the same, by reference."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from equerry.channel.events import Done, Event, UiAction
from equerry.kernel.errors import NotFound, TooLarge, Unavailable
from equerry.kernel.identifiers import ArtifactId, ConnectionId, ConversationId, RunId
from equerry.kernel.usage import Usage
from equerry.ports.artifacts import MAX_ARTIFACT_BYTES, ArtifactKey
from equerry.ports.delivery import MAX_FRAME_BYTES
from equerry.services.delivery import encode_frame
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.artifacts import MemoryArtifactStoreAdapter
from tests.fakes.retention import MemoryRetentionAdapter
from tests.unit.runtime.test_http_app import UNKNOWN, Api
from tests.unit.services.world import ADA, BEN, World


class LostStoreAdapter(MemoryArtifactStoreAdapter):
    """Does not answer."""

    def store_artifact(self, key: ArtifactKey, body: bytes) -> None:
        raise Unavailable("the artifact store does not answer")


@dataclass
class Scene:
    """A run that publishes what it is told to, and one reader."""

    world: World = field(default_factory=World)

    def __post_init__(self) -> None:
        self.conversation: ConversationId = self.world.open_conversation()
        self.run: RunId = self.world.submit(self.conversation).run_id
        self.reader: ConnectionId = self.world.connect("reader")
        self.world.sockets.subscribe(self.reader, self.conversation, run_id=self.run, after=0)
        self.publisher = self.world.build_publisher(self.run, self.conversation)

    def publish(self, event: Event) -> dict[str, Any]:
        self.publisher.publish(event)
        return self.world.frames(self.reader)[-1]


def navigate(text: str) -> UiAction:
    return UiAction(action="navigate", details={"text": text})


def frame_size(scene: Scene, text: str) -> int:
    frame = scene.publish(navigate(text))
    return len(encode_frame(frame).encode())


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_payload_too_large_for_a_frame_is_stored_and_referred_to_in_its_place(scene: Scene) -> None:
    text = "ü" * MAX_FRAME_BYTES
    small = scene.publish(navigate("here"))
    large = scene.publish(navigate(text))
    done = scene.publish(Done(stop_reason="end_turn", usage=Usage()))

    assert [frame["seq"] for frame in (small, large, done)] == [1, 2, 3]
    assert "payloadRef" not in small
    assert (large["type"], large["payload"]) == ("ui_action", {})
    body = scene.world.artifacts.fetch_artifact(
        ArtifactKey.of(ADA, scene.conversation, large["payloadRef"]["artifactId"])
    )
    assert json.loads(body) == {"action": "navigate", "text": text}
    assert large["payloadRef"]["sizeBytes"] == len(body)
    assert [envelope.to_wire() for envelope in scene.world.envelopes(scene.run)] == [small, large, done]


def test_the_longest_frame_is_sent_whole_and_the_next_longer_is_not(scene: Scene) -> None:
    around = frame_size(scene, "x") - 1
    fits = MAX_FRAME_BYTES - around

    whole = scene.publish(navigate("x" * fits))
    referred = scene.publish(navigate("x" * (fits + 1)))

    assert "payloadRef" not in whole
    assert "payloadRef" in referred


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=1, max_size=50), st.integers(1, 60_000))
def test_whatever_is_said_its_frame_fits_and_its_words_arrive(text: str, times: int) -> None:
    scene = Scene()

    frame = scene.publish(navigate(text * times))

    assert len(encode_frame(frame).encode()) <= MAX_FRAME_BYTES
    payload = frame["payload"]
    if "payloadRef" in frame:
        key = ArtifactKey.of(ADA, scene.conversation, frame["payloadRef"]["artifactId"])
        payload = json.loads(scene.world.artifacts.fetch_artifact(key))
    assert payload["text"] == text * times


def test_a_payload_that_cannot_be_stored_is_neither_logged_nor_sent() -> None:
    scene = Scene(World(artifacts=LostStoreAdapter()))

    with pytest.raises(Unavailable):
        scene.publisher.publish(navigate("x" * MAX_FRAME_BYTES))

    assert scene.world.envelopes(scene.run) == ()
    assert len(scene.world.frames(scene.reader)) == 1
    assert scene.publisher.last_seq == 0


def test_a_payload_no_answer_could_carry_either_is_refused(scene: Scene) -> None:
    with pytest.raises(TooLarge):
        scene.publisher.publish(navigate("x" * MAX_ARTIFACT_BYTES))

    assert scene.world.envelopes(scene.run) == ()
    assert scene.world.store.artifacts == {}


def test_two_workers_on_one_run_do_not_change_what_the_other_refers_to(scene: Scene) -> None:
    ours, theirs = "a" * MAX_FRAME_BYTES, "b" * MAX_FRAME_BYTES
    frame = scene.publish(navigate(ours))
    scene.world.log.forget(scene.run, 1)
    scene.world.build_publisher(scene.run, scene.conversation).publish(navigate(theirs))

    key = ArtifactKey.of(ADA, scene.conversation, frame["payloadRef"]["artifactId"])
    assert json.loads(scene.world.artifacts.fetch_artifact(key))["text"] == ours


def test_who_may_read_the_conversation_fetches_the_payload_and_nobody_else() -> None:
    api = Api(World())
    scene = Scene(api.world)
    scene.publish(navigate("x" * MAX_FRAME_BYTES))
    elsewhere = scene.world.open_conversation()
    _, replay, _ = api("GET", f"/runs/{scene.run}/envelopes")
    reference = replay["envelopes"][0]["payloadRef"]
    path = f"/conversations/{scene.conversation}/artifacts/{reference['artifactId']}"

    status, payload, headers = api("GET", path)

    assert (status, payload) == (200, {"action": "navigate", "text": "x" * MAX_FRAME_BYTES})
    assert headers["cache-control"] == "no-store"
    foreign = api("GET", path, token="eve")[:2]
    unknown = api("GET", path.replace(reference["artifactId"], UNKNOWN))[:2]
    assert (foreign[0], unknown[0]) == (404, 404)
    assert api("GET", path.replace(scene.conversation, elsewhere))[0] == 404
    assert api("GET", path, token=None)[0] == 401
    assert api("GET", f"/conversations/{scene.conversation}/artifacts/nothing")[0] == 400


@pytest.mark.req("F-DATA-04", "F-PERS-02")
def test_after_a_reload_the_payload_is_listed_for_its_reader_and_nobody_else() -> None:
    api = Api(World())
    scene = Scene(api.world)
    frame = scene.publish(navigate("x" * MAX_FRAME_BYTES))
    path = f"/conversations/{scene.conversation}/artifacts"

    status, listed, _ = api("GET", path)

    assert status == 200
    (artifact,) = listed["artifacts"]
    assert (artifact["artifactId"], artifact["sizeBytes"]) == (
        frame["payloadRef"]["artifactId"],
        frame["payloadRef"]["sizeBytes"],
    )
    assert (artifact["runId"], artifact["kind"], artifact["title"]) == (scene.run, "payload", "ui_action")
    assert api("GET", f"{path}/{artifact['artifactId']}")[1]["text"] == "x" * MAX_FRAME_BYTES
    assert api("GET", path, token="eve")[0] == 404


def test_no_body_is_stored_for_a_conversation_that_has_gone(scene: Scene) -> None:
    MemoryRetentionAdapter(scene.world.store).delete_conversations(
        unchanged_since=scene.world.clock.now() + timedelta(days=1), limit=9
    )

    with pytest.raises(NotFound):
        scene.publisher.publish(navigate("x" * MAX_FRAME_BYTES))

    assert scene.world.artifacts.list_keys() == ()


def test_an_artifact_of_a_conversation_that_is_gone_is_not_given_out() -> None:
    world = World()
    gone, artifact_id = ConversationId(UNKNOWN), ArtifactId(UNKNOWN)
    world.artifacts.store_artifact(ArtifactKey.of(ADA, gone, artifact_id), b"{}")

    status, problem, _ = Api(world)("GET", f"/conversations/{gone}/artifacts/{artifact_id}")

    assert (status, problem["code"]) == (404, "not_found")


def test_an_envelope_that_carries_its_payload_says_nothing_of_a_reference() -> None:
    api = Api(World())
    scene = Scene(api.world)
    scene.publish(navigate("here"))

    _, replay, _ = api("GET", f"/runs/{scene.run}/envelopes")

    assert "payloadRef" not in replay["envelopes"][0]


def test_an_owner_s_artifacts_lie_under_the_owner_s_prefix(scene: Scene) -> None:
    scene.publish(navigate("x" * MAX_FRAME_BYTES))

    (key,) = scene.world.artifacts.list_keys()

    assert key.startswith(f"artifacts/{ADA.organisation_id}/{ADA.user_id}/{scene.conversation}/")
    assert BEN.user_id not in key
