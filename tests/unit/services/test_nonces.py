"""The nonce that fences untrusted text: unguessable, and another one each turn."""

from base64 import urlsafe_b64decode

import pytest
from equerry.adapters.fixture.script import replay, say
from equerry.domain.fencing import find_fenced
from equerry.runtime.minting import new_nonce

from tests.unit.services.world import ADA, World


@pytest.mark.req("A-TURN-10")
def test_a_nonce_is_128_bits_and_never_seen_before() -> None:
    nonces = {new_nonce() for _ in range(10_000)}
    raw = [urlsafe_b64decode(nonce + "==") for nonce in nonces]

    assert len(nonces) == 10_000
    assert {len(each) for each in raw} == {16}
    ones = sum(int.from_bytes(each).bit_count() for each in raw)
    assert ones / (10_000 * 128) == pytest.approx(0.5, abs=0.01)


@pytest.mark.req("A-TURN-10")
def test_each_turn_is_fenced_with_a_nonce_of_its_own_that_its_instructions_name() -> None:
    world = World(script=replay([say("One."), say("Two.")]), new_nonce=new_nonce)
    conversation = world.open_conversation()
    turns = []
    for question in ("First?", "Second?"):
        turns.append(world.submit(conversation, question))
        world.deliver(turns[-1])

    nonces = [
        world.explaining.fetch_record(ADA, turn.run_id).composition["instructions"]["variables"]["nonce"]  # type: ignore[index]  # JSON
        for turn in turns
    ]

    assert len(set(nonces)) == 2
    for request, nonce, other in zip(world.model.requests, nonces, nonces[::-1], strict=True):
        asked = request.thread.messages[-1].text
        assert nonce in request.prompt.dynamic
        assert find_fenced(asked, nonce, kind="user") is not None
        assert other not in request.prompt.dynamic + str(request.thread)
