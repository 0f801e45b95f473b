"""A turn that was given a project's content belongs to that project, whatever becomes of it or its person."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from equerry.adapters.fixture.script import call, replay, say
from equerry.channel.events import Step
from equerry.channel.marker import Marker
from equerry.channel.publisher import Publisher
from equerry.engine.tool import ToolOutcome
from equerry.kernel.errors import NotFound, Unavailable
from equerry.kernel.identifiers import ConnectionId, ProjectId
from equerry.services.pulse import ALIVE_S
from equerry.services.readership import LOOK_EVERY_S, TRUSTED_S
from equerry.services.turns import Acceptance

from tests.fakes.clock import FixedClock
from tests.fakes.delivery import MemoryReplayLogAdapter
from tests.fakes.directory import MemoryDirectoryAdapter
from tests.fakes.transcripts import MemoryTranscripts
from tests.unit.services.test_recording import Look
from tests.unit.services.world import ADA, Mortality, ProcessKilled, World

APOLLO = ProjectId("apollo")
PLAN = ToolOutcome(content="the plan of apollo", summary="Found 1 thing", project_ids=(APOLLO,))


def build_world(*, kill_at: int = 0, **given: object) -> tuple[World, MemoryDirectoryAdapter]:
    """Return a world whose tool finds something of apollo's, and who belongs to what: ada to apollo."""
    world = World(
        script=replay([call("look", query="plan"), say("It is ", "this plan.")]),
        build_tools=lambda *_: (Look(PLAN),),
        fate=Mortality(kill_at=kill_at),
        **given,  # type: ignore[arg-type]  # fields of World
    )
    directory = world.store.directory = MemoryDirectoryAdapter()
    directory.join(ADA, APOLLO)
    return world, directory


class TellingClock(FixedClock):
    """Something happens while somebody sleeps."""

    on_sleep: Callable[[], None] = staticmethod(lambda: None)

    def sleep(self, seconds: float) -> None:
        self.on_sleep()
        super().sleep(seconds)


def ask(world: World) -> Acceptance:
    return world.submit(world.open_conversation())


def is_marked(world: World, accepted: Acceptance) -> bool:
    return APOLLO in world.store.projects.get(accepted.conversation_id, ())


@pytest.mark.req("A-PROJ-02", "A-PROJ-08", "A-PROJ-09")
def test_what_a_tool_declares_closes_the_conversation_to_who_leaves_and_opens_it_to_who_returns() -> None:
    world, directory = build_world()
    accepted = ask(world)
    assert world.deliver(accepted) == "answered"

    directory.leave(ADA, APOLLO)
    with pytest.raises(NotFound):
        world.conversations.fetch_view(ADA, accepted.conversation_id)
    with pytest.raises(NotFound):
        world.reading.read_envelopes(ADA, accepted.run_id, after=0)
    with pytest.raises(NotFound):
        world.turns.submit(ADA, accepted.conversation_id, "And then?")
    directory.join(ADA, APOLLO)

    assert (
        world.conversations.fetch_view(ADA, accepted.conversation_id).messages[-1].text == "It is this plan."
    )


def test_a_turn_without_a_project_s_content_binds_nobody() -> None:
    world, directory = build_world()
    world.build_tools = lambda *_: (Look(replace(PLAN, project_ids=())),)
    accepted = ask(world)
    world.deliver(accepted)

    directory.leave(ADA, APOLLO)

    assert world.conversations.fetch_view(ADA, accepted.conversation_id).messages


@pytest.mark.req("A-PROJ-02", "A-PROJ-03", "R-06", "R-42")
def test_wherever_a_worker_dies_nothing_of_a_project_was_told_before_the_mark() -> None:
    world, _ = build_world()
    world.deliver(ask(world))
    effects = len(world.fate.effects)

    for kill_at in range(1, effects + 1):
        world, directory = build_world(kill_at=kill_at)
        accepted = ask(world)
        with pytest.raises(ProcessKilled):
            world.deliver(accepted)
        told = {envelope.type for envelope in world.envelopes(accepted.run_id)}
        assert is_marked(world, accepted) or not told & {"tool_end", "token", "message"}, kill_at

        world.fate = Mortality()
        world.clock.advance(ALIVE_S + 1)
        directory.leave(ADA, APOLLO)
        world.recovery.settle_lapsed()
        if is_marked(world, accepted):
            with pytest.raises(NotFound):
                world.reading.fetch_view(ADA, accepted.run_id)


class UnmarkableTranscripts(MemoryTranscripts):
    """The database takes no mark."""

    def mark_projects(self, *_: object) -> None:
        raise Unavailable("the database does not answer")


def test_content_that_cannot_be_marked_is_not_told() -> None:
    world, _ = build_world(store=UnmarkableTranscripts())
    accepted = ask(world)

    with pytest.raises(Unavailable):
        world.deliver(accepted)

    assert not {"tool_end", "token", "message"} & set(world.types(accepted.run_id))


def test_a_run_whose_person_has_left_ends_all_the_same_and_is_there_when_they_return() -> None:
    world, directory = build_world()
    accepted = ask(world)
    world.store.mark_projects(accepted.conversation_id, (APOLLO,))
    directory.leave(ADA, APOLLO)

    assert world.deliver(accepted) == "answered"

    assert world.types(accepted.run_id)[-1] == "done"
    assert world.leases.find_lease(accepted.conversation_id) is None
    with pytest.raises(NotFound):
        world.reading.fetch_view(ADA, accepted.run_id)
    directory.join(ADA, APOLLO)
    view = world.reading.fetch_view(ADA, accepted.run_id)
    assert (view.run.status, view.run.stop_reason, view.answer) == ("ended", "error", None)


def publish_for(world: World, reader: ConnectionId) -> tuple[Acceptance, Publisher]:
    accepted = ask(world)
    world.store.mark_projects(accepted.conversation_id, (APOLLO,))
    world.sockets.subscribe(reader, accepted.conversation_id, run_id=accepted.run_id, after=0)
    return accepted, world.build_publisher(accepted.run_id, accepted.conversation_id)


def count_frames(world: World, reader: ConnectionId) -> int:
    return sum(1 for frame in world.frames(reader) if frame["seq"])


@pytest.mark.req("R-42", "F-TENV-05")
def test_an_open_socket_is_told_nothing_more_within_seconds_of_its_reader_s_leaving() -> None:
    world, directory = build_world()
    reader = world.connect("reader")
    accepted, publisher = publish_for(world, reader)

    publisher.publish(Step(stage="answering", label="One"))
    directory.leave(ADA, APOLLO)
    world.clock.advance(LOOK_EVERY_S)
    publisher.publish(Step(stage="answering", label="Two"))
    heard_after_leaving = count_frames(world, reader)
    directory.join(ADA, APOLLO)
    world.clock.advance(LOOK_EVERY_S)
    publisher.publish(Step(stage="answering", label="Three"))

    assert heard_after_leaving == 1
    assert count_frames(world, reader) == 2
    assert len(world.log.read(Marker(accepted.run_id), limit=9)) == 3


def test_a_socket_is_closed_to_while_nobody_can_say_and_a_moment_of_that_costs_nothing() -> None:
    world, directory = build_world()
    reader = world.connect("reader")
    _, publisher = publish_for(world, reader)
    directory.reachable = False
    heard = []

    for _ in range(int(TRUSTED_S / LOOK_EVERY_S) + 1):
        publisher.publish(Step(stage="answering", label="x"))
        heard.append(count_frames(world, reader))
        world.clock.advance(LOOK_EVERY_S)
    directory.reachable = True
    publisher.publish(Step(stage="answering", label="x"))

    assert heard == [1, 2, 3, 4, 4]
    assert count_frames(world, reader) == 5


@pytest.mark.req("R-42")
def test_a_request_that_waits_for_more_finds_nothing_once_its_reader_has_left() -> None:
    clock = TellingClock()
    world, directory = build_world(clock=clock)
    accepted = ask(world)
    world.store.mark_projects(accepted.conversation_id, (APOLLO,))
    world.log = MemoryReplayLogAdapter()
    clock.on_sleep = lambda: directory.leave(ADA, APOLLO)

    with pytest.raises(NotFound):
        world.reading.follow_envelopes(ADA, accepted.run_id, after=0)
