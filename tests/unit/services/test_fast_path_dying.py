"""Whatever dies or fails where a question is answered in place, its run ends once, and nobody pays twice."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from equerry.kernel.errors import Unavailable
from equerry.services.pulse import ALIVE_S
from equerry.services.turns import Acceptance

from tests.unit.services.fast_world import (
    GO,
    HOW,
    answer_of,
    ask,
    assert_ended_once,
    fast_world,
    sent,
)
from tests.unit.services.world import ADA, Mortality, ProcessKilled, World


def effects_of(text: str, kill_at: int = 0, *, after: bool = False) -> tuple[World, Callable[[], Acceptance]]:
    world = fast_world(entry_fate=Mortality(kill_at=kill_at, after=after))
    conversation = world.open_conversation()
    return world, lambda: world.turns.submit(ADA, conversation, text, key="k")


def count_effects(text: str) -> int:
    world, submit = effects_of(text)
    submit()
    return len(world.entry_fate.effects)


@pytest.mark.req("F-ENV-07")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("text", [GO, HOW])
def test_an_entry_point_killed_at_any_effect_leaves_nothing_that_does_not_end(text: str, after: bool) -> None:
    for kill_at in range(1, count_effects(text) + 1):
        world, submit = effects_of(text, kill_at, after=after)
        with contextlib.suppress(ProcessKilled):
            submit()

        world.entry_fate = Mortality()
        world.clock.advance(400)
        world.recovery.settle_lapsed()

        for run in world.store.runs.values():
            assert_ended_once(world, _acceptance(run))
        accepted = submit()
        world.deliver(accepted)
        assert_ended_once(world, accepted)


@pytest.mark.parametrize("text", [GO, HOW])
def test_a_reader_hears_of_a_dead_entry_point_within_a_worker_s_time_once_it_had_begun(text: str) -> None:
    world, submit = effects_of(text)
    submit()
    begun = world.entry_fate.effects.index("leases.claim") + 2

    for kill_at in range(begun, count_effects(text) + 1):
        world, submit = effects_of(text, kill_at)
        with pytest.raises(ProcessKilled):
            submit()
        world.entry_fate = Mortality()
        world.clock.advance(ALIVE_S + 1)
        world.recovery.settle_lapsed()

        (run,) = world.store.runs.values()
        assert_ended_once(world, _acceptance(run))


@pytest.mark.parametrize("text", [GO, HOW])
def test_a_store_that_fails_once_in_the_fast_path_leaves_the_turn_to_a_worker(text: str) -> None:
    world, submit = effects_of(text)
    submit()
    names = world.entry_fate.effects
    for failing in range(names.index("leases.claim") + 1, len(names) + 1):
        world = fast_world(entry_fate=Failing(failing))

        accepted = ask(world, text)
        if sent(world):
            world.deliver(accepted)
        world.clock.advance(400)
        world.recovery.settle_lapsed()

        assert_ended_once(world, accepted)
        had_begun = failing > names.index("runs.start_run") + 2  # its first words are in the log
        assert len(world.model.requests) == (0 if had_begun else 1), names[failing - 1]


class Failing(Mortality):
    """A process whose nth effect fails once, and that lives on."""

    def __init__(self, fail_at: int) -> None:
        super().__init__()
        self._fail_at = fail_at

    def run(self, what: str, act: Callable[[], Any]) -> Any:
        self.effects.append(what)
        if len(self.effects) == self._fail_at:
            raise Unavailable(f"{what} does not answer")
        return act()


def test_the_same_question_under_the_same_key_is_answered_once() -> None:
    world, submit = effects_of(GO)

    first, again = submit(), submit()

    assert first.run_id == again.run_id
    assert (again.mode, sent(world)) == ("inline", [])
    assert_ended_once(world, first)


def test_a_run_that_has_begun_to_answer_is_never_begun_again_by_a_worker() -> None:
    world, submit = effects_of(GO)
    submit()
    said = world.entry_fate.effects.index("runs.end_run") + 1
    world, submit = effects_of(GO, said)
    with pytest.raises(ProcessKilled):
        submit()
    (run,) = world.store.runs.values()
    world.entry_fate = Mortality()
    world.clock.advance(ALIVE_S + 1)

    world.deliver(_acceptance(run))

    assert world.model.requests == []
    assert world.types(run.run_id) == [
        *("accepted", "step", "token", "ui_action", "message", "error", "done"),
    ]
    assert answer_of(world, _acceptance(run)) == "**Dashboard** is at [/dashboard](/dashboard)."


def test_another_question_waits_while_one_is_being_answered_in_place() -> None:
    world, submit = effects_of(GO)
    submit()
    claimed = world.entry_fate.effects.index("leases.claim") + 1
    world, submit = effects_of(GO, claimed, after=True)
    with pytest.raises(ProcessKilled):
        submit()

    (run,) = world.store.runs.values()
    lease = world.leases.find_lease(run.conversation_id)
    assert lease is not None
    assert (lease.token, lease.until) == (1, world.clock.now() + timedelta(seconds=ALIVE_S))
    assert world.deliver(_acceptance(run)) == "not_ours"


def _acceptance(run: Any) -> Acceptance:
    return Acceptance(
        run_id=run.run_id,
        conversation_id=run.conversation_id,
        user_message_id=run.user_message_id,
        assistant_message_id=run.assistant_message_id,
        mode=run.mode,
    )
