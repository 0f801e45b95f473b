"""What is true of every run that ended, however it did."""

from equerry.adapters.fixture.script import call, replay, say
from equerry.domain.conversations import Run
from equerry.domain.limits import TurnLimits
from equerry.kernel.usage import Usage
from equerry.services.turns import Acceptance

from tests.unit.services.world import ADA, Mortality, World

WHOLE = TurnLimits().turn_tokens
USAGE = Usage(input_tokens=90, output_tokens=9)


def live_world(kill_at: int = 0, *, after: bool = False) -> World:
    return World(
        script=replay([call("look"), say("Hello ", "there.", usage=USAGE), say("Again.", usage=USAGE)]),
        fate=Mortality(kill_at=kill_at, after=after),
    )


def assert_ended_once(world: World, accepted: Acceptance) -> None:
    envelopes = world.envelopes(accepted.run_id)
    assert [envelope.seq for envelope in envelopes] == list(range(1, len(envelopes) + 1))
    types = [envelope.type for envelope in envelopes]
    assert types[0] == "accepted"
    assert types[-1] == "done"
    assert types.count("done") == 1
    assert types.count("error") <= 1
    run = world.store.runs[accepted.run_id]
    assert run.status == "ended"
    assert envelopes[-1].payload["stopReason"] == run.stop_reason
    answers = [m for m in world.store.messages[accepted.conversation_id] if m.role == "assistant"]
    assert len(answers) <= 1
    assert world.leases.find_lease(accepted.conversation_id) is None
    assert_settled(world)


def assert_settled(world: World) -> None:
    """The organisation is charged what its runs spent; all that one reserved, if nobody can know."""
    runs = [run for run in world.store.runs.values() if run.status == "ended"]
    spent = sum(WHOLE if is_uncounted(run) else run.usage.tokens for run in runs)
    assert len(runs) == len(world.store.runs)
    assert sum(world.admissions.windows[ADA.organisation_id].hours.values()) == spent


def is_uncounted(run: Run) -> bool:
    return run.provider_started and run.stop_reason == "interrupted"
