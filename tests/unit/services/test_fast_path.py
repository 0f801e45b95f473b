"""Questions that need no model are answered where they are accepted, by the one run path, or by a worker."""

from typing import Any

import pytest
from equerry.domain.catalogue import ProductRoute
from equerry.domain.fast_path import FastPath
from equerry.domain.intents import HowToIntent, Intent, IntentContext, NavigateIntent, NoIntent
from equerry.domain.profiles import Profile
from equerry.domain.turn_context import TurnContext
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import CorpusId
from equerry.kernel.usage import Usage

from tests.fakes.catalogues import MemoryCatalogueAdapter
from tests.fakes.documents import MemoryDocumentAdapter
from tests.fakes.profiles import MemoryProfileAdapter
from tests.unit.services.fast_world import (
    CATALOGUE,
    GO,
    HOW,
    OTHER,
    PROFILE,
    answer_of,
    ask,
    assert_ended_once,
    fast_world,
    sent,
)
from tests.unit.services.library import publish_help
from tests.unit.services.world import ADA, EVE, TRACE_ID, World


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


def _with(fast_path: FastPath) -> Profile:
    return Profile(
        name="docs", version="v1", title="Docs", identity="You.", guidance="Search.", fast_path=fast_path
    )
