"""Questions that need no model are answered where they are accepted, by the one run path, or by a worker."""

import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from equerry.domain.catalogue import ProductRoute, read_catalogue
from equerry.domain.fast_path import FastPath
from equerry.domain.intents import HowToIntent, Intent, IntentContext, NavigateIntent, NoIntent
from equerry.domain.profiles import Profile
from equerry.domain.turn_context import TurnContext
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import CorpusId
from equerry.kernel.usage import Usage
from equerry.services.pulse import ALIVE_S
from equerry.services.turns import Acceptance

from tests.fakes.catalogues import MemoryCatalogueAdapter
from tests.fakes.documents import MemoryDocumentAdapter
from tests.fakes.profiles import MemoryProfileAdapter
from tests.unit.services.library import publish_help
from tests.unit.services.world import ADA, EVE, TRACE_ID, Mortality, ProcessKilled, World

GO = "Take me to the dashboard"
HOW = "How do I import rates?"
OTHER = "Which rate is cheapest?"
CATALOGUE = read_catalogue(
    "pages",
    [
        {"id": "dashboard", "label": "Dashboard", "path": "/dashboard"},
        {"id": "rates", "label": "Rates", "path": "/projects/:projectId/rates"},
    ],
)
PROFILE = Profile(
    name="docs",
    version="v1",
    title="Docs",
    identity="You help.",
    guidance="Search first.",
    fast_path=FastPath(catalogue="pages", help=(CorpusId("help"),)),
)


def fast_world(**changed: Any) -> World:
    world = World(
        profiles=MemoryProfileAdapter(PROFILE), catalogues=MemoryCatalogueAdapter(CATALOGUE), **changed
    )
    article = {"Import rates": "Choose Import and pick a file."}
    publish_help(MemoryDocumentAdapter(world.library), "rates.md", "Rates", article)
    return world


def ask(world: World, text: str, context: TurnContext | None = None) -> Acceptance:
    return world.turns.submit(ADA, world.open_conversation(), text, context=context)


def sent(world: World) -> list[str]:
    """Return what the entry point asked of the queue."""
    return [effect for effect in world.entry_fate.effects if effect.startswith("queue.")]


def answer_of(world: World, accepted: Acceptance) -> str:
    (said,) = [m for m in world.store.messages[accepted.conversation_id] if m.role == "assistant"]
    return said.text


def assert_ended_once(world: World, accepted: Acceptance) -> None:
    types = world.types(accepted.run_id)
    assert [e.seq for e in world.envelopes(accepted.run_id)] == list(range(1, len(types) + 1))
    assert (types[0], types[-1], types.count("done")) == ("accepted", "done", 1)
    run = world.store.runs[accepted.run_id]
    assert run.status == "ended"
    assert len([m for m in world.store.messages[run.conversation_id] if m.role == "assistant"]) <= 1
    assert world.leases.find_lease(run.conversation_id) is None
    assert sum(world.admissions.windows[ADA.organisation_id].hours.values()) == run.usage.tokens


@pytest.mark.req("A-TURN-02", "A-NAV-04", "F-ORCH-04", "F-ORCH-05")
def test_a_page_is_opened_without_a_model_or_a_queue() -> None:
    world = fast_world()

    accepted = ask(world, GO)

    assert accepted.mode == "inline"
    assert world.types(accepted.run_id) == [
        *("accepted", "step", "token", "ui_action", "message", "done"),
    ]
    action = world.envelopes(accepted.run_id)[3].payload
    assert action == {
        "action": "navigate",
        "path": "/dashboard",
        "label": "Dashboard",
        "routeId": "dashboard",
    }
    assert answer_of(world, accepted) == "**Dashboard** is at [/dashboard](/dashboard)."
    assert (world.model.requests, sent(world)) == ([], [])


@pytest.mark.req("A-TURN-02", "A-HOWTO-05", "A-HOWTO-06", "A-HOWTO-10")
def test_a_how_to_question_is_answered_from_its_section_which_is_cited() -> None:
    world = fast_world()

    accepted = ask(world, HOW)

    assert world.types(accepted.run_id) == ["accepted", "step", "token", "citations", "message", "done"]
    assert answer_of(world, accepted) == (
        "This is done on **Rates**.\n\nSee **Rates › Import rates**: ⟦1⟧\n\nChoose Import and pick a file."
    )
    refs: Any = world.envelopes(accepted.run_id)[3].payload["refs"]
    assert (refs[0]["headingPath"], refs[0]["quote"]) == (["Import rates"], "Choose Import and pick a file.")
    assert (world.model.requests, sent(world)) == ([], [])


@pytest.mark.req("A-HOWTO-04")
def test_the_page_is_a_link_where_the_context_says_which_project() -> None:
    world = fast_world()

    accepted = ask(world, HOW, TurnContext(ids=(("projectId", "p-1"),)))

    assert answer_of(world, accepted).startswith("This is done on [**Rates**](/projects/p-1/rates).")


@pytest.mark.req("A-HOWTO-07")
def test_an_article_s_preamble_is_pointed_to_by_the_article_s_title_alone() -> None:
    world = fast_world()
    article = {"": "Select both and choose Merge."}
    publish_help(MemoryDocumentAdapter(world.library), "merge.md", "Merge two suppliers", article)

    accepted = ask(world, "How do I merge two suppliers?")

    assert answer_of(world, accepted).startswith("See **Merge two suppliers**: ")


@pytest.mark.parametrize("text", [GO, HOW])
def test_the_record_says_what_was_chosen_and_why_and_nothing_is_spent(text: str) -> None:
    world = fast_world()

    accepted = ask(world, text)

    run = world.store.runs[accepted.run_id]
    kind = "navigate" if text == GO else "how_to"
    assert (run.mode, run.mode_reason, run.stop_reason) == ("inline", f"fast_path_{kind}", "end_turn")
    assert (run.profile_version, run.model, run.provider_started) == ("v1", None, False)
    assert (run.usage, run.last_seq) == (Usage(), 6)
    assert world.explaining.fetch_record(ADA, accepted.run_id).trace_id == TRACE_ID
    assert_ended_once(world, accepted)
    assert world.turns.submit(ADA, accepted.conversation_id, OTHER).mode == "queued"


@pytest.mark.req("A-TURN-05")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GO, {"intent": "navigate", "route": "dashboard", "score": 1.0}),
        (OTHER, {"intent": "none", "reason": "other_form"}),
        ("Take me to the dash", {"intent": "none", "reason": "no_match"}),
        ("Take me to rates", {"intent": "none", "reason": "unresolved", "nearest": "rates", "score": 1.0}),
    ],
)
def test_a_hit_and_a_miss_are_both_kept_with_the_turn(text: str, said: dict[str, object]) -> None:
    world = fast_world()

    accepted = ask(world, text)

    assert world.store.classifications[accepted.run_id].describe() == said


@pytest.mark.req("A-HOWTO-11")
def test_a_how_to_hit_is_kept_with_its_article_and_its_page() -> None:
    world = fast_world()

    said = world.store.classifications[ask(world, HOW).run_id].describe()

    ((stored,),) = world.library.passages.values()
    article = {"article": stored.passage.document_id, "passage": stored.passage.passage_id}
    assert said == {"intent": "how_to", "route": "rates", "score": 1.0, **article}


def test_a_miss_goes_to_the_workers_and_is_answered_by_the_model() -> None:
    world = fast_world()

    accepted = ask(world, OTHER)
    world.deliver(accepted)

    assert accepted.mode == "queued"
    assert world.store.runs[accepted.run_id].mode_reason == "fast_path_other_form"
    assert answer_of(world, accepted) == "Hello there."


@pytest.mark.req("A-HOWTO-01")
def test_without_help_corpora_no_how_to_question_is_answered_and_without_a_fast_path_nothing_is() -> None:
    links_off = World(
        profiles=MemoryProfileAdapter(_with(FastPath(catalogue="pages"))),
        catalogues=MemoryCatalogueAdapter(CATALOGUE),
    )
    asked, gone = ask(links_off, HOW), ask(links_off, GO)
    assert (asked.mode, gone.mode) == ("queued", "inline")
    assert links_off.store.runs[asked.run_id].mode_reason == "fast_path_other_form"
    assert "words.find_matching" not in links_off.entry_fate.effects

    pages_off = World(profiles=MemoryProfileAdapter(_with(FastPath(help=(CorpusId("help"),)))))
    assert pages_off.store.runs[ask(pages_off, GO).run_id].mode_reason == "fast_path_other_form"

    off = World(catalogues=MemoryCatalogueAdapter(CATALOGUE))
    accepted = ask(off, GO)
    assert (accepted.mode, off.store.runs[accepted.run_id].mode_reason) == ("queued", "needs_model")
    assert off.store.classifications == {}


def test_only_a_question_of_the_how_to_form_asks_the_index_and_only_a_place_the_catalogue() -> None:
    world = fast_world()

    ask(world, OTHER)
    assert (world.catalogues.fetched, world.entry_fate.effects.count("words.find_matching")) == ([], 0)
    ask(world, GO)
    assert (world.catalogues.fetched, world.entry_fate.effects.count("words.find_matching")) == (["pages"], 0)
    ask(world, HOW)
    assert world.entry_fate.effects.count("words.find_matching") == 1


def test_help_is_searched_under_the_asking_person_s_scope() -> None:
    world = fast_world()
    stranger = world.turns.submit(EVE, world.open_conversation(EVE), HOW)

    assert stranger.mode == "queued"
    assert world.store.classifications[stranger.run_id].describe() == {"intent": "none", "reason": "no_match"}


@pytest.mark.parametrize("hint", ["../../admin", "p-1/../../x", "//evil.example", ""])
def test_a_hint_fills_an_address_or_is_ignored(hint: str) -> None:
    world = fast_world()

    assert ask(world, "Take me to rates", TurnContext(ids=(("projectId", hint),))).mode == "queued"


class Broken:
    """An index that does not answer, or not as it should."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    def classify(self, _question: str, _context: IntentContext) -> Intent:
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "reason"), [(Unavailable("index"), "unavailable"), (KeyError("bug"), "failed")]
)
def test_a_tier_that_fails_costs_nobody_a_turn(failure: Exception, reason: str) -> None:
    world = fast_world(tier=Broken(failure))

    accepted = ask(world, GO)
    world.deliver(accepted)

    assert world.store.runs[accepted.run_id].mode_reason == f"fast_path_{reason}"
    assert world.store.classifications[accepted.run_id].is_failure
    assert answer_of(world, accepted) == "Hello there."


def test_a_catalogue_that_is_not_installed_costs_nobody_a_turn() -> None:
    world = fast_world()
    world.catalogues = MemoryCatalogueAdapter()

    accepted = ask(world, GO)

    assert (accepted.mode, world.store.runs[accepted.run_id].mode_reason) == (
        "queued",
        "fast_path_unavailable",
    )


class Elsewhere:
    """A tier of somebody else's: sends everyone to one page."""

    def classify(self, question: str, context: IntentContext) -> Intent:
        assert isinstance(context.by_words(), NoIntent)
        route = ProductRoute(route_id="inbox", label="Inbox", path="/inbox")
        return NavigateIntent(route=route, score=len(question), path="/inbox")


@pytest.mark.req("A-TURN-13", "A-TURN-14")
def test_another_tier_takes_the_place_of_the_shipped_one_and_the_run_path_stays_as_it_is() -> None:
    world = fast_world(tier=Elsewhere())

    accepted = ask(world, OTHER)

    assert answer_of(world, accepted) == "**Inbox** is at [/inbox](/inbox)."
    assert_ended_once(world, accepted)


@pytest.mark.req("A-TURN-13")
@pytest.mark.parametrize("text", [GO, HOW, OTHER])
def test_the_shipped_tier_takes_what_the_words_say_as_it_is(text: str) -> None:
    world = fast_world()

    accepted = ask(world, text)

    said = world.fast_path.words.classify(ADA, PROFILE.fast_path or FastPath(), text, {})
    assert world.store.classifications[accepted.run_id].intent == said
    assert isinstance(said, {GO: NavigateIntent, HOW: HowToIntent, OTHER: NoIntent}[text])
    assert world.model.requests == []


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


def _with(fast_path: FastPath) -> Profile:
    return Profile(
        name="docs", version="v1", title="Docs", identity="You.", guidance="Search.", fast_path=fast_path
    )


def _acceptance(run: Any) -> Acceptance:
    return Acceptance(
        run_id=run.run_id,
        conversation_id=run.conversation_id,
        user_message_id=run.user_message_id,
        assistant_message_id=run.assistant_message_id,
        mode=run.mode,
    )
