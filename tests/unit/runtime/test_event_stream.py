"""A run as server-sent events: a stretch an answer, until there is nothing more to come back for."""

import json
from dataclasses import dataclass, field, fields
from typing import Any

import pytest
from equerry.adapters.fixture.script import call, replay, say
from equerry.channel.control import CONTROL_TYPES
from equerry.channel.envelope import Envelope
from equerry.channel.events import EVENT_TYPES
from equerry.kernel.identifiers import RunId
from equerry.services.reading import FOLLOW_S
from equerry.services.replaying import MAX_PAGE_BYTES

from local.codegen.typescript import to_camel
from tests.unit.runtime.test_http_app import UNKNOWN, Api, opened
from tests.unit.services.world import World


@dataclass
class EventSource:
    """Reads as the HTML standard says: comes back with the last id it has, until 204."""

    api: Api
    path: str
    last_id: str = ""
    events: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    retry_ms: int | None = None
    connects: int = 0

    def connect(self) -> int:
        self.connects += 1
        headers = {"last-event-id": self.last_id} if self.last_id else {}
        status, body, received = self.api("GET", self.path, headers=headers)
        if status == 200:
            assert received["content-type"] == "text/event-stream"
            for block in body.removesuffix("\n\n").split("\n\n"):
                self._take(block)
        return status

    def read_to_the_end(self) -> None:
        while self.connects < 50 and self.connect() == 200:
            pass

    def _take(self, block: str) -> None:
        lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if "retry" in lines:
            self.retry_ms = int(lines["retry"])
        if "data" in lines:
            self.last_id = lines["id"]
            self.events.append((lines["id"], lines["event"], json.loads(lines["data"])))


@pytest.fixture
def api() -> Api:
    return Api(World())


def asked(api: Api, *, answered: bool = True) -> RunId:
    conversation = opened(api)
    _, accepted, _ = api("POST", f"/conversations/{conversation}/messages", {"text": "Well?"})
    if answered:
        api.world.worker.execute(accepted["runId"], accepted["conversationId"])
    return RunId(accepted["runId"])


def test_a_reader_that_comes_back_gets_every_event_once_in_order_and_is_told_to_stop(api: Api) -> None:
    run = asked(api)
    source = EventSource(api, f"/runs/{run}/events")

    source.read_to_the_end()

    assert [data for _, _, data in source.events] == [e.to_wire() for e in api.world.envelopes(run)]
    assert [(seq, kind) for seq, kind, _ in source.events] == [
        (str(e.seq), e.type) for e in api.world.envelopes(run)
    ]
    assert source.retry_ms == 500
    assert source.connects == 2


def test_a_reader_gets_what_follows_the_last_event_it_has(api: Api) -> None:
    run = asked(api)
    source = EventSource(api, f"/runs/{run}/events", last_id="5")

    source.connect()

    assert [kind for _, kind, _ in source.events] == ["message", "done"]


@pytest.mark.req("A-TURN-08", "A-TURN-09")
def test_a_run_that_says_nothing_is_waited_for_and_the_answer_ends_in_time(api: Api) -> None:
    run = asked(api, answered=False)
    before_s = api.world.clock.monotonic_s()

    status, body, headers = api("GET", f"/runs/{run}/events")

    waited_s = api.world.clock.monotonic_s() - before_s
    assert (status, body) == (200, "retry: 500\n\n: ping\n\n")
    assert FOLLOW_S <= waited_s < 25
    assert headers["x-accel-buffering"] == "no"
    assert headers["cache-control"] == "no-store"


def test_what_comes_while_a_reader_waits_ends_the_wait(api: Api) -> None:
    run = asked(api, answered=False)
    source = EventSource(api, f"/runs/{run}/events")
    conversation = api.world.store.runs[run].conversation_id
    sleep = api.world.clock.sleep

    def answer_meanwhile(seconds: float) -> None:
        api.world.clock.sleep = sleep  # type: ignore[method-assign]  # once
        api.world.worker.execute(run, conversation)

    api.world.clock.sleep = answer_meanwhile  # type: ignore[method-assign]  # the run goes on while its reader waits

    source.connect()

    assert source.events[-1][1] == "done"
    assert api.world.clock.monotonic_s() < FOLLOW_S


def test_a_log_that_has_forgotten_the_beginning_says_where_it_goes_on(api: Api) -> None:
    run = asked(api)
    api.world.log.forget(run, 1, 2, 3)
    source = EventSource(api, f"/runs/{run}/events")

    source.read_to_the_end()

    seq, kind, gap = source.events[0]
    assert (seq, kind, gap["seq"], gap["payload"]) == ("3", "gap", 0, {"after": 0, "next": 4})
    assert [seq for seq, _, _ in source.events[1:]] == ["4", "5", "6", "7"]


def test_a_log_that_has_expired_is_a_gap_to_the_end_and_then_the_end(api: Api) -> None:
    run = asked(api)
    api.world.log.forget(run, *range(1, 8))
    api.world.clock.advance(3_000)
    source = EventSource(api, f"/runs/{run}/events")

    source.read_to_the_end()

    assert [(kind, data["payload"]) for _, kind, data in source.events] == [("gap", {"after": 0, "next": 8})]
    assert source.connects == 2


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "٣", "1000001", "9" * 40, "5, 6"])
def test_a_last_event_id_that_is_none_of_ours_is_refused(api: Api, given: str) -> None:
    status, problem, _ = api("GET", f"/runs/{asked(api)}/events", headers={"last-event-id": given})

    assert (status, problem["code"]) == (400, "invalid_request")
    assert "Last-Event-ID" in problem["detail"]


def test_a_stranger_learns_nothing_of_a_run(api: Api) -> None:
    run = asked(api)

    foreign = api("GET", f"/runs/{run}/events", token="eve")[:2]
    unknown = api("GET", f"/runs/{UNKNOWN}/events", token="eve")[:2]

    assert foreign[0] == unknown[0] == 404
    assert foreign[1]["detail"] == unknown[1]["detail"]
    assert api("GET", f"/runs/{run}/events", token=None)[0] == 401
    assert api("GET", "/runs/not-an-id/events")[0] == 400


def test_an_answer_stays_below_what_a_function_may_return(api: Api) -> None:
    run = asked(api, answered=False)
    large = {"delta": "x" * 300_000}
    for seq in range(1, 41):
        last = Envelope(
            type="token",
            run_id=api.world.store.runs[run].run_id,
            conversation_id=api.world.store.runs[run].conversation_id,
            seq=seq,
            at=api.world.clock.now(),
            payload=large,
        )
        api.world.log.append(last)
    source, sizes = EventSource(api, f"/runs/{run}/events"), []

    while len(source.events) < 40:
        before = len(source.events)
        source.connect()
        sizes.append(len(json.dumps([data for _, _, data in source.events[before:]])))

    assert [seq for seq, _, _ in source.events] == [str(seq) for seq in range(1, 41)]
    assert max(sizes) <= MAX_PAGE_BYTES * 1.01


@pytest.mark.req("A-TURN-04")
def test_on_every_way_to_a_reader_a_turn_speaks_the_one_declared_vocabulary() -> None:
    api = Api(World(script=replay([call("look"), say("Hello ", "there.")])))
    run = asked(api, answered=False)
    conversation = api.world.store.runs[run].conversation_id
    reader = api.world.connect("reader")
    api.world.sockets.subscribe(reader, conversation, run_id=run, after=0)
    api.world.worker.execute(run, conversation)
    source = EventSource(api, f"/runs/{run}/events")
    source.read_to_the_end()
    _, page, _ = api("GET", f"/runs/{run}/envelopes")

    live = [frame for frame in api.world.frames(reader) if frame["seq"]]
    controls = {frame["type"] for frame in api.world.frames(reader) if not frame["seq"]}

    assert live == page["envelopes"] == [data for _, _, data in source.events]
    assert {"accepted", "step", "tool_start", "tool_end", "token", "done"} <= {f["type"] for f in live}
    for frame in live:
        declared = {to_camel(field.name) for field in fields(EVENT_TYPES[frame["type"]])}
        assert set(frame["payload"]) <= declared
    assert controls <= CONTROL_TYPES.keys()
