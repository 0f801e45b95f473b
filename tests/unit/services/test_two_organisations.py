"""Two organisations, one process: prompts, artifacts, queue and sockets of one hold nothing of the other."""

import json
from dataclasses import asdict

import pytest
from equerry.adapters.fixture.script import ScriptedRound, say
from equerry.engine.model import ModelRequest
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ArtifactId
from equerry.ports.artifacts import ArtifactKey
from equerry.services.artifacts import ArtifactService
from equerry.services.subscriptions import SubscriptionService

from tests.fakes.transcripts import MemoryTranscriptAdapter
from tests.unit.services.world import ADA, EVE, World

OURS, THEIRS = "canary-acme-5d1f", "canary-globex-a07c"


@pytest.fixture
def prompts() -> list[str]:
    return []


@pytest.fixture
def world(prompts: list[str]) -> World:
    def answer(request: ModelRequest) -> ScriptedRound:
        prompts.append(repr(request))
        return say("Noted: ", OURS if OURS in prompts[-1] else THEIRS)

    return World(script=answer)


@pytest.mark.req("F-TENV-01", "F-TENV-03")
def test_no_prompt_holds_a_word_of_another_organisation_s(world: World, prompts: list[str]) -> None:
    homes = {scope.organisation_id: world.open_conversation(scope) for scope in (ADA, EVE)}

    for _ in range(3):
        for scope, canary in ((ADA, OURS), (EVE, THEIRS)):
            home = homes[scope.organisation_id]
            world.deliver(world.turns.submit(scope, home, f"Remember {canary}"))

    assert len(prompts) == 6
    assert [(OURS in prompt, THEIRS in prompt) for prompt in prompts] == [(True, False), (False, True)] * 3


@pytest.mark.req("F-TENV-01")
def test_the_queue_carries_nothing_but_ids_and_a_worker_goes_by_the_lease(world: World) -> None:
    accepted = world.turns.submit(EVE, world.open_conversation(EVE), f"Remember {THEIRS}")

    queued = json.dumps([repr(message) for message in world.queue.__dict__.values()])
    assert accepted.run_id in queued
    assert not any(word in queued for word in (THEIRS, EVE.organisation_id, EVE.user_id))
    assert world.deliver(accepted) == "answered"
    assert world.reading.fetch_view(EVE, accepted.run_id).run.status == "ended"
    with pytest.raises(NotFound):
        world.reading.fetch_view(ADA, accepted.run_id)


@pytest.mark.req("F-TENV-01", "F-TENV-02")
def test_an_artifact_lies_under_its_organisation_and_is_nobody_else_s(world: World) -> None:
    home = world.open_conversation(EVE)
    artifact = ArtifactId(world.new_id())
    theirs, ours = ArtifactKey.of(EVE, home, artifact), ArtifactKey.of(ADA, home, artifact)
    world.artifacts.store_artifact(theirs, THEIRS.encode())
    service = ArtifactService(transcripts=MemoryTranscriptAdapter(world.store), artifacts=world.artifacts)

    assert EVE.organisation_id in str(asdict(theirs))
    assert ours != theirs
    assert service.fetch_body(EVE, home, artifact) == THEIRS
    with pytest.raises(NotFound):
        service.fetch_body(ADA, home, artifact)
    with pytest.raises(NotFound):
        world.artifacts.fetch_artifact(ours)


@pytest.mark.req("F-TENV-01", "F-TENV-05")
def test_a_socket_hears_no_conversation_of_another_organisation(world: World) -> None:
    reader, sockets = world.connect("reader", ADA), world.sockets
    assert isinstance(sockets, SubscriptionService)
    home = world.open_conversation(EVE)
    accepted = world.turns.submit(EVE, home, f"Remember {THEIRS}")

    for run_id in (accepted.run_id, None):
        with pytest.raises(NotFound):
            sockets.subscribe(reader, home, run_id=run_id, after=0)
    mine = world.open_conversation(ADA)
    with pytest.raises(NotFound):
        sockets.subscribe(reader, mine, run_id=accepted.run_id, after=0)
    world.deliver(accepted)

    assert THEIRS not in json.dumps(world.frames(reader))
