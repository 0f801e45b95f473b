"""What a run's record tells afterwards, whatever happened meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import get_args

import pytest
from equerry.adapters.fixture.script import call, fail, replay, say
from equerry.domain.activity import ActivityFilter
from equerry.domain.manifests import derive_variant_key
from equerry.domain.principal import Principal, Scope
from equerry.domain.records import Incident, RunRecord
from equerry.domain.steps import FAILED_TEXTS
from equerry.engine.model import ToolSpec
from equerry.engine.tool import ToolEffect, ToolFailure, ToolOutcome
from equerry.kernel.errors import NotFound, Unavailable
from equerry.kernel.usage import Usage
from equerry.ports.model import ModelUnavailable
from equerry.services.pulse import ALIVE_S
from equerry.services.turns import Acceptance

from tests.fakes.activity import MemoryActivityAdapter
from tests.unit.services.world import ADA, BEN, EVE, PROFILE, Mortality, ProcessKilled, World

ROOT = Scope(organisation_id=ADA.organisation_id, user_id=BEN.user_id, role="admin")
CANARY = "canary-0f9e8d7c6b5a"


@dataclass
class Look:
    """A tool that answers what it is told to."""

    outcome: ToolOutcome | Exception = field(
        default_factory=lambda: ToolOutcome(
            content="found",
            summary="Found 2 things",
            facts={"passages": 2, "characters": 900},
            account={"kind": "search", "returned": [{"passageId": "p-1"}]},
        )
    )
    label: str = "Looking it up"
    effect: ToolEffect = "read"
    spec: ToolSpec = field(
        default_factory=lambda: ToolSpec(
            name="look",
            description="Look",
            input_schema={
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
            },
        )
    )

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def watch(*rounds: object, tool: Look | None = None) -> World:
    chosen = tool or Look()
    return World(script=replay(rounds), build_tools=lambda *_: (chosen,))  # type: ignore[arg-type]  # rounds


def answer(world: World, text: str = "Well?") -> Acceptance:
    accepted = world.submit(world.open_conversation(), text)
    world.deliver(accepted)
    return accepted


def explain(world: World, accepted: Acceptance, scope: Scope = ADA) -> RunRecord:
    return world.explaining.fetch_record(scope, accepted.run_id)


@pytest.mark.req("F-INC-05", "F-INC-06", "P-TRACE-01", "F-ROUTE-05", "F-ORCH-06")
def test_a_record_answers_what_happened_in_that_turn() -> None:
    usage = Usage(input_tokens=100, output_tokens=10)
    world = watch(call("look", query="my salary", usage=usage), say("[[p0000000|x]]Fine.", usage=usage))

    record = explain(world, answer(world, "What do I earn?"))

    assert record.composition["instructions"] == {
        "profile": "docs",
        "version": "v1",
        "variantKey": derive_variant_key(PROFILE, (Look().spec,), "unknown"),
        "variables": {"nonce": "0123456789abcdefABCDEF", "degraded": []},
    }
    assert [tool["name"] for tool in record.composition["tools"]] == ["look"]  # type: ignore[attr-defined]
    assert record.composition["limits"]["rounds"] == 8  # type: ignore[index]
    rounds = record.outcome["rounds"]
    assert [(r["number"], r["provider"], r["model"], r["inputTokens"]) for r in rounds] == [  # type: ignore[attr-defined]
        (1, "fixture", world.model.choice.model, 100),
        (2, "fixture", world.model.choice.model, 100),
    ]
    assert record.outcome["verification"] == {
        "citationsVerified": 0,
        "citationsRemoved": 1,
        "cited": [],
        "passagesInContext": 0,
    }
    (step,) = record.steps
    assert (step.tool, step.arguments, step.outcome) == ("look", {"query": "text of 9 characters"}, "ok")
    assert step.account["returned"] == [{"passageId": "p-1"}]
    assert record.deliveries is not None
    assert record.deliveries["envelopes"] == len(world.envelopes(record.run_id))
    assert record.usage is not None
    assert record.usage.usage == usage + usage
    assert record.usage.cost_usd == 0
    assert (record.usage.passages, record.usage.characters) == (2, 900)


@pytest.mark.req("A-AUD-02")
def test_no_word_that_was_said_is_in_a_record() -> None:
    world = watch(
        call("look", query=f"secret {CANARY}"),
        say(f"Answer {CANARY}."),
        tool=Look(ToolOutcome(content=CANARY, summary=f"Found {CANARY}", facts={"apiKey": CANARY})),
    )

    record = explain(world, answer(world, f"Question {CANARY}?"))

    kept = (record.composition, record.outcome, record.deliveries)
    structure = [(step.arguments, step.facts, step.account) for step in record.steps]
    assert CANARY not in f"{kept} {structure}"


@pytest.mark.req("F-INC-06")
@pytest.mark.parametrize("kill_at", range(7, 24))
def test_a_run_whose_worker_died_keeps_what_was_known_of_it(kill_at: int) -> None:
    world = watch(call("look", query="x"), say("Hello."))
    world.fate = Mortality(kill_at=kill_at, after=True)
    accepted = world.submit(world.open_conversation())
    try:
        world.deliver(accepted)
    except ProcessKilled:
        world.fate = Mortality()
        world.clock.advance(ALIVE_S + 10)
        world.recovery.settle_lapsed()

    record = explain(world, accepted)
    assert record.status == "ended"
    assert record.composition["taskClass"] == "chat"
    assert record.usage is not None
    began = {step.position for step in record.steps}
    assert {row.position for row in world.store.list_audit(accepted.run_id)} == began


@pytest.mark.req("A-PROG-02")
def test_a_step_that_cannot_be_saved_is_logged_and_the_turn_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    world = watch(call("look", query="x"), say("Hello."))
    keep = world.store.keep_step
    broken = [True, True]

    def fail_twice(*given: object) -> None:
        if broken and broken.pop():
            raise Unavailable("the database did not complete the request")
        keep(*given)  # type: ignore[arg-type]  # passed on as it came

    world.store.keep_step = fail_twice  # type: ignore[method-assign,assignment]  # an outage
    accepted = answer(world)

    assert world.types(accepted.run_id)[-1] == "done"
    assert [r.getMessage() for r in caplog.records].count("step_not_saved") == 2
    assert [row.outcome for row in world.store.list_audit(accepted.run_id)] == ["ok"]


@pytest.mark.req("A-PROG-06", "A-PROG-04")
@pytest.mark.parametrize(
    ("asked", "tool", "text"),
    [
        (call("teleport"), Look(), "That step isn’t available"),
        (call("look", limit="many"), Look(), "The details didn’t fit, so this step didn’t run"),
        (call("look"), Look(Unavailable("secret driver text")), "This step didn’t work"),
        (
            call("look"),
            Look(ToolOutcome(content="x", summary="Found 2 build-up lines")),
            "Found 2 build-up lines",
        ),
        (call("look"), Look(ToolOutcome(content="x", summary='{"lines": 2}')), "Finished this step"),
        (call("look"), Look(ToolOutcome(content="x")), "Finished this step"),
    ],
)
def test_a_finished_step_is_told_in_one_plain_sentence(asked: object, tool: Look, text: str) -> None:
    world = watch(asked, say("Hello."), tool=tool)
    accepted = answer(world)

    (told,) = [e.payload["summary"] for e in world.envelopes(accepted.run_id) if e.type == "tool_end"]
    (shown,) = world.conversations.fetch_view(ADA, accepted.conversation_id).messages[1].steps
    assert told == shown.text == text


@pytest.mark.req("A-PROG-07")
def test_the_audits_summary_does_not_depend_on_the_sentence() -> None:
    facts = {"passages": 2, "characters": 900}
    worded, bare = (
        watch(call("look"), say("Hello."), tool=Look(ToolOutcome(content="x", summary=summary, facts=facts)))
        for summary in ("Found 2 things", '{"x": 1}')
    )

    results = [world.store.list_audit(answer(world).run_id)[0].result for world in (worded, bare)]

    assert results == [facts, facts]


@pytest.mark.req("A-AUD-01")
def test_calls_beyond_the_limit_are_audited_as_refused_and_shown_to_nobody() -> None:
    world = watch(*[call("look", call_id=f"c{n}") for n in range(3)], say("Hello."))
    world.limits = type(world.limits)(tool_calls=2)

    accepted = answer(world)

    assert [row.outcome for row in world.store.list_audit(accepted.run_id)] == ["ok", "ok", "refused"]
    assert world.types(accepted.run_id).count("tool_start") == 2


def test_every_failure_has_a_sentence() -> None:
    assert set(FAILED_TEXTS) == set(get_args(ToolFailure))


@pytest.mark.req("A-RED-03")
def test_what_a_provider_says_of_a_failure_loses_its_credentials() -> None:
    world = watch(fail(ModelUnavailable(f"refused: Bearer {CANARY}")))

    accepted = answer(world)

    told = [e.payload for e in world.envelopes(accepted.run_id) if e.type == "error"]
    assert CANARY not in f"{told} {world.store.runs[accepted.run_id]}"


@pytest.mark.req("F-INC-07")
def test_who_reads_anothers_record_is_audited_before_it_is_shown() -> None:
    world = watch(say("Hello."))
    accepted = answer(world)

    explain(world, accepted, ADA)
    assert world.store.list_audit(accepted.run_id) == ()
    assert explain(world, accepted, ROOT).user_id == "ada"
    found = world.explaining.list_incident(
        Principal(scope=ROOT, expires_at=world.clock.now()), Incident(), after=None, limit=5
    )

    assert [record.run_id for record in found] == [accepted.run_id]
    looks = MemoryActivityAdapter(world.store).list_activity(ROOT, ActivityFilter(), after=None, limit=5)
    assert [(row.tool, row.user_id) for row in looks] == [("run_record_read", "ben")] * 2
    for stranger in (BEN, EVE):
        with pytest.raises(NotFound):
            explain(world, accepted, stranger)


@pytest.mark.req("F-ABUSE-03")
def test_the_turn_with_which_a_person_passes_the_days_volume_is_told_once() -> None:
    large = Look(ToolOutcome(content="x", facts={"passages": 6, "characters": 2_000_000}))
    rounds = [step for _ in range(5) for step in (call("look"), say("Hello."))]
    world = watch(*rounds, tool=large)
    conversation = world.open_conversation()

    outliers = []
    for hours in (0, 1, 1, 1, 30):
        world.clock.advance(timedelta(hours=hours).total_seconds())
        world.deliver(world.submit(conversation))
        outliers.append(len(world.metrics.list_amounts("RetrievalOutliers")))

    assert outliers == [0, 0, 1, 1, 1]
    assert world.metrics.list_amounts("CharactersRetrieved") == [2_000_000] * 5
