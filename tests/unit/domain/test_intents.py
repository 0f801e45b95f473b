"""What words say a question is after: a wrong short cut is worse than a missed one."""

import pytest
from equerry.domain.catalogue import read_catalogue
from equerry.domain.fast_path import TAU_HOWTO, TAU_NAV
from equerry.domain.intent_scoring import choose_navigation, choose_section, find_mentioned, score_section
from equerry.domain.intents import HowToIntent, NavigateIntent, NoIntent
from equerry.domain.question_forms import find_place, find_task
from equerry.domain.wording import list_terms

from tests.labelled.fast_path import build_section, classify, describe, read_labelled_set

LABELLED = read_labelled_set()
GROUPS = {"first": LABELLED.first, "second": LABELLED.second, "held": LABELLED.held}
ROUTES = read_catalogue(
    "shop",
    [
        {"id": "orders", "label": "Orders", "path": "/orders", "synonyms": ["purchases"]},
        {"id": "order", "label": "Order", "path": "/orders/:orderId", "visibility": "hidden"},
        {"id": "returns", "label": "Returns", "path": "/projects/:projectId/returns"},
        {"id": "log-a", "label": "Audit log", "path": "/a"},
        {"id": "log-b", "label": "History", "path": "/b", "synonyms": ["audit log"]},
    ],
).list_offered()


@pytest.mark.req("A-TURN-02")
@pytest.mark.parametrize("group", GROUPS)
def test_no_labelled_question_is_answered_wrongly_and_most_that_can_be_are(group: str) -> None:
    questions = GROUPS[group]
    said = {question: describe(classify(LABELLED, question)) for question in questions}

    wrong = {question: got for question, got in said.items() if got not in ("model", questions[question])}
    wanted = [question for question, want in questions.items() if want != "model"]

    assert wrong == {}
    assert sum(said[question] == questions[question] for question in wanted) >= 0.9 * len(wanted)


@pytest.mark.req("A-NAV-04")
def test_a_page_is_found_by_its_label_or_a_synonym() -> None:
    for wanted in ("orders", "the Orders page", "purchases"):
        found = choose_navigation(ROUTES, wanted, {}, least=TAU_NAV)
        assert isinstance(found, NavigateIntent)
        assert (found.route.route_id, found.path, found.score) == ("orders", "/orders", 1.0)


@pytest.mark.parametrize(
    ("wanted", "reason", "nearest"),
    [
        ("audit log", "ambiguous", "log-a"),
        ("returns", "unresolved", "returns"),
        ("the order", "unresolved", "order"),
        ("orders of last week", "no_match", "orders"),
        ("weather", "no_match", None),
    ],
)
def test_a_tie_an_address_with_holes_and_a_longer_wish_are_left_to_the_model(
    wanted: str, reason: str, nearest: str | None
) -> None:
    found = choose_navigation(ROUTES, wanted, {}, least=TAU_NAV)

    assert isinstance(found, NoIntent)
    assert (found.reason, found.nearest) == (reason, nearest)


def test_a_project_s_page_is_found_where_the_page_said_which_project() -> None:
    found = choose_navigation(ROUTES, "returns", {"projectId": "p-1"}, least=TAU_NAV)

    assert isinstance(found, NavigateIntent)
    assert found.path == "/projects/p-1/returns"


@pytest.mark.req("A-HOWTO-03")
def test_a_how_to_answer_names_a_page_only_if_exactly_one_is_named() -> None:
    one = find_mentioned(ROUTES, "file returns quickly", {}, least=TAU_NAV)

    assert one is not None
    assert (one.route.route_id, one.path) == ("returns", None)
    assert find_mentioned(ROUTES, "read the audit log", {}, least=TAU_NAV) is None
    assert find_mentioned(ROUTES, "change the weather", {}, least=TAU_NAV) is None


@pytest.mark.req("A-HOWTO-02")
def test_a_section_must_reach_the_threshold_and_have_no_rival() -> None:
    hooks = build_section("hooks", "Hooks", "Add a hook", "Call addHook.")
    other = build_section("plugins", "Plugins", "Add a hook", "Hooks of plugins.")
    again = build_section("hooks", "Hooks", "Add a hook", "A second part of the same section.")

    found = choose_section([again, hooks], "add a hook", least=TAU_HOWTO)
    assert isinstance(found, HowToIntent)
    assert found.score >= TAU_HOWTO

    rivals = choose_section([hooks, other], "add a hook", least=TAU_HOWTO)
    assert (rivals.reason if isinstance(rivals, NoIntent) else None) == "ambiguous"
    weak = choose_section([hooks], "add a hook to the running server", least=TAU_HOWTO)
    assert (weak.reason if isinstance(weak, NoIntent) else None) == "no_match"
    assert isinstance(choose_section([], "add a hook", least=TAU_HOWTO), NoIntent)


def test_what_stands_in_the_text_alone_counts_only_at_the_end_and_hardly() -> None:
    section = build_section("rates", "Rates", "Import rates", "Pick a spreadsheet. Delete duplicates.")

    assert score_section(section, "import rates") == 1.0
    assert TAU_HOWTO < score_section(section, "import rates from a spreadsheet") < 0.8
    assert score_section(section, "delete rates") == 0
    assert score_section(section, "import rates from a printer") == 0


def test_a_preamble_is_known_by_its_article_s_title() -> None:
    assert (
        score_section(build_section("rates", "Importing rates", "", "All about it."), "import rates") == 1.0
    )


@pytest.mark.parametrize(
    "question",
    [
        "open the orders, please. And then summarise them.",
        "open the orders\nand the returns",
        "open orders, returns",
        'open "orders"',
        "take me to it",
        "open my order",
        "orders",
        "please",
        "",
        "open " + "order " * 40,
    ],
)
def test_conversation_and_more_than_one_sentence_is_no_short_question(question: str) -> None:
    assert find_place(question) is None
    assert find_task(question) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Importing rates", "import a rate"),
        ("Companies", "the company"),
        ("Add hooks", "adding a hook"),
        ("Configured loggers", "configure logger"),
        ("Café tables", "CAFE TABLE"),
    ],
)
def test_inflection_case_and_accents_make_no_difference(one: str, other: str) -> None:
    assert set(list_terms(one)) == set(list_terms(other))


def test_a_particle_that_changes_a_verb_is_a_word_of_its_own() -> None:
    assert set(list_terms("log in")) != set(list_terms("log out"))
    assert set(list_terms("turn on alerts")) != set(list_terms("turn off alerts"))
    assert set(list_terms("orders in June")) == set(list_terms("June orders"))
