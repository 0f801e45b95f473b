"""What operators can count and measure about turns."""

from collections.abc import Mapping

import pytest
from equerry.adapters.fixture.script import Pause, ScriptedRound, call, fail, replay, say
from equerry.domain.budget import DailyLimitReached
from equerry.domain.corpora import Passage
from equerry.domain.evidence import Evidence
from equerry.domain.limits import TurnLimits
from equerry.domain.rates import RateLimited
from equerry.engine.model import ModelRequest, RoundEnd, TextDelta, ToolSpec
from equerry.engine.tool import ToolEffect, ToolOutcome
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId
from equerry.kernel.usage import Usage
from equerry.ports.metrics import MetricName, TurnShape
from equerry.ports.model import ModelUnavailable
from equerry.services.pulse import ALIVE_S
from equerry.services.turns import Acceptance

from tests.unit.services.world import Mortality, ProcessKilled, World

WAITING_S = 3.0


def answer(world: World) -> Acceptance:
    """Ask, let the question wait for a worker, and let it be answered."""
    accepted = world.submit(world.open_conversation())
    world.clock.advance(WAITING_S)
    world.deliver(accepted)
    return accepted


@pytest.mark.req("A-MET-05")
def test_a_turn_that_ends_is_counted_once_under_its_profile_and_model() -> None:
    world = World()

    answer(world)

    ((measures, profile, model),) = world.metrics.records
    assert measures["Turns"] == 1
    assert (profile, model) == ("docs", world.model.choice.model)


@pytest.mark.req("A-MET-02")
def test_the_first_text_is_timed_from_acceptance_so_that_the_queue_and_the_model_count() -> None:
    slow = ScriptedRound((Pause(2.0), TextDelta("Hello "), Pause(5.0), TextDelta("there."), END))
    world = World(script=replay([slow]))

    accepted = answer(world)

    (first_ms,) = world.metrics.list_amounts("TurnFirstTokenMs")
    assert first_ms == (WAITING_S + 2.0) * 1000
    first = next(e for e in world.envelopes(accepted.run_id) if e.type == "token")
    assert first_ms == (first.at - world.store.runs[accepted.run_id].created_at).total_seconds() * 1000


@pytest.mark.req("A-MET-03")
def test_the_whole_turn_is_timed_from_acceptance_to_its_end() -> None:
    slow = ScriptedRound((Pause(2.0), TextDelta("Hello "), Pause(5.0), TextDelta("there."), END))
    world = World(script=replay([slow]))

    answer(world)

    assert world.metrics.list_amounts("TurnCompleteMs") == [(WAITING_S + 7.0) * 1000]


@pytest.mark.req("A-MET-09")
def test_tokens_of_every_round_are_added_up() -> None:
    look = call("look", usage=Usage(input_tokens=100, output_tokens=10))
    world = World(script=replay([look, say("Hello.", usage=Usage(input_tokens=200, output_tokens=20))]))

    answer(world)

    assert world.metrics.list_amounts("TokensSpent") == [330]


@pytest.mark.req("A-MET-10")
def test_what_the_provider_read_from_its_cache_is_a_share_of_all_input() -> None:
    world = World(script=replay([say("Hello.", usage=Usage(input_tokens=400, cached_input_tokens=100))]))

    answer(world)

    assert world.metrics.list_amounts("CacheHitRatePct") == [25.0]


def test_a_turn_without_input_tokens_has_no_hit_rate() -> None:
    world = World(script=replay([say("Hello.")]))

    answer(world)

    assert world.metrics.list_amounts("CacheHitRatePct") == []


@pytest.mark.parametrize(
    ("ending", "counted"),
    [
        pytest.param(say("Hello."), {"Turns"}, id="an answer"),
        pytest.param(
            fail(ModelUnavailable("away")),
            {"Turns", "TurnErrors"},
            id="a failure",
            marks=pytest.mark.req("A-MET-04"),
        ),
        pytest.param(
            say("Hel", stop="max_tokens"),
            {"Turns", "TurnTruncated"},
            id="an answer cut off",
            marks=pytest.mark.req("A-MET-06"),
        ),
        pytest.param(
            say("No.", stop="refusal"),
            {"Turns", "Refusals"},
            id="a refusal",
            marks=pytest.mark.req("A-MET-11"),
        ),
    ],
)
def test_an_ending_is_counted_as_what_it_is(ending: ScriptedRound, counted: set[MetricName]) -> None:
    world = World(script=replay([ending]))

    answer(world)

    names: tuple[MetricName, ...] = ("Turns", "TurnErrors", "TurnTruncated", "Refusals")
    assert {name for name in names if world.metrics.list_amounts(name)} == counted


@pytest.mark.req("A-MET-04")
def test_a_bug_of_ours_counts_as_an_error() -> None:
    def break_down(_request: ModelRequest) -> ScriptedRound:
        raise ZeroDivisionError

    world = World(script=break_down)

    with pytest.raises(ZeroDivisionError):
        answer(world)

    assert world.metrics.list_amounts("TurnErrors") == [1]


@pytest.mark.parametrize("kill_at", range(1, 20))
def test_a_run_whose_worker_died_is_counted_at_most_once_and_as_an_error_if_it_was_interrupted(
    kill_at: int,
) -> None:
    world = World(script=replay([call("look"), say("Hello.")]), fate=Mortality(kill_at=kill_at, after=True))
    accepted = world.submit(world.open_conversation())
    try:
        world.deliver(accepted)
    except ProcessKilled:
        world.fate = Mortality()
        world.clock.advance(ALIVE_S + 10)
        world.deliver(accepted)
        world.recovery.settle_lapsed()

    assert len(world.metrics.list_amounts("Turns")) <= 1
    interrupted = world.store.runs[accepted.run_id].stop_reason == "interrupted"
    assert len(world.metrics.list_amounts("TurnErrors")) == interrupted


@pytest.mark.parametrize(
    ("limits", "name", "refusal"),
    [
        pytest.param(
            TurnLimits(user_turns_per_minute=1),
            "RateLimited",
            RateLimited,
            marks=pytest.mark.req("A-MET-07"),
        ),
        pytest.param(
            TurnLimits(daily_tokens=8_000),
            "BudgetExhausted",
            DailyLimitReached,
            marks=pytest.mark.req("A-MET-08"),
        ),
    ],
)
def test_a_turn_refused_at_the_door_is_counted_by_its_reason(
    limits: TurnLimits, name: MetricName, refusal: type[Exception]
) -> None:
    world = World(limits=limits)
    world.submit(world.open_conversation())
    assert world.metrics.records == []

    with pytest.raises(refusal):
        world.submit(world.open_conversation())

    assert world.metrics.records == [({name: 1}, "docs", None)]


class Find:
    """A tool that finds a passage, or only does something."""

    label = "Looking"
    effect: ToolEffect = "read"
    spec = ToolSpec(name="look", description="Looks.", input_schema={"type": "object"})

    def __init__(self, evidence: Evidence, *, finds: bool) -> None:
        self._evidence, self._finds = evidence, finds

    def run(self, _arguments: Mapping[str, object]) -> ToolOutcome:
        if self._finds:
            self._evidence.admit([PASSAGE])
        return ToolOutcome(content="done")


@pytest.mark.req("F-LAT-01")
@pytest.mark.parametrize(
    ("rounds", "finds", "shape"),
    [
        ([say("Hello.")], False, "context"),
        ([call("look"), say("Hello.")], True, "retrieval"),
        ([call("look"), say("Hello.")], False, "tools"),
    ],
)
def test_times_are_told_apart_by_what_a_turn_did_for_its_answer(
    rounds: list[ScriptedRound], finds: bool, shape: TurnShape
) -> None:
    world = World(
        script=replay(rounds), build_tools=lambda _p, _s, evidence, _n: (Find(evidence, finds=finds),)
    )

    answer(world)

    assert world.metrics.shapes == [shape]


def test_no_metric_tells_of_a_person_or_an_organisation() -> None:
    world = World()

    answer(world)

    assert not {"ada", "acme"} & {text for _, *split in world.metrics.records for text in split}


PASSAGE = Passage(
    passage_id=PassageId("p-1"),
    document_id=DocumentId("d-1"),
    corpus_id=CorpusId("handbook"),
    title="Leave",
    heading_path=(),
    text="Thirty days.",
    source_path="leave.md",
    version=1,
    token_count=3,
)
END = RoundEnd(stop="end_turn", usage=Usage())
