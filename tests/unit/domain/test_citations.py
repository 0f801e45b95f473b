"""A citation a reader sees resolves to a passage of this run; any other is gone before it is shown."""

import pytest
from equerry.domain.citations import CITATION_RULES, CitationFilter, strip_markers
from equerry.domain.corpora import Passage
from equerry.domain.evidence import Evidence
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId, RunId
from hypothesis import given
from hypothesis import strategies as st

TEXT = "The lease lapses after thirty seconds.\nA worker renews it  every eight."


def passage(passage_id: str = "p1", text: str = TEXT) -> Passage:
    return Passage(
        passage_id=PassageId(passage_id),
        document_id=DocumentId("d1"),
        corpus_id=CorpusId("handbook"),
        title="Leases",
        heading_path=("Workers", "Liveness"),
        text=text,
        source_path="leases.md",
        version=1,
        token_count=20,
    )


def prepared(run: str = "run-1") -> tuple[CitationFilter, str]:
    evidence = Evidence(RunId(run))
    ((handle, _),) = evidence.admit([passage()])
    return CitationFilter(evidence), handle


def show(citations: CitationFilter, *chunks: str) -> str:
    return "".join(citations.feed(chunk) for chunk in chunks) + citations.finish()


@pytest.mark.req("F-CITE-03", "F-CITE-07")
def test_a_citation_that_holds_becomes_a_marker_bound_to_its_claim() -> None:
    citations, handle = prepared()

    shown = show(citations, f"It lapses quickly [[{handle}|lapses after thirty seconds]], so renew it.")

    assert shown == "It lapses quickly ⟦1⟧, so renew it."
    (ref,) = citations.refs
    assert (ref.n, ref.passage_id, ref.quote) == (1, "p1", "lapses after thirty seconds")
    assert (ref.title, ref.heading_path, ref.source_path) == ("Leases", ("Workers", "Liveness"), "leases.md")


@given(st.data())
def test_however_the_text_is_cut_the_reader_sees_the_same(data: st.DataObject) -> None:
    citations, handle = prepared()
    text = f"A [[{handle}|lease lapses]] b [[p00000000|x]] c [d] [[e]] [[{handle}|renews it every eight]]."
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert show(citations, *chunks) == "A ⟦1⟧ b  c [d] [[e]] ⟦2⟧."
    assert citations.removed == 1


@pytest.mark.req("F-CITE-04", "F-CITE-07")
def test_a_handle_of_another_run_is_removed_and_counted() -> None:
    _, foreign = prepared("run-2")
    citations, _ = prepared("run-1")

    assert show(citations, f"Yes [[{foreign}|lease lapses]].") == "Yes ."
    assert (citations.refs, citations.removed) == ([], 1)


def test_a_quote_the_passage_does_not_hold_is_removed_and_counted() -> None:
    citations, handle = prepared()

    assert show(citations, f"Never [[{handle}|the lease never lapses]].") == "Never ."
    assert citations.removed == 1


def test_layout_and_case_do_not_break_a_quote() -> None:
    citations, handle = prepared()

    show(citations, f"[[{handle}|Thirty seconds. A worker\nrenews it every eight]]")

    assert len(citations.refs) == 1


def test_the_same_quote_twice_is_one_source_and_another_quote_a_second() -> None:
    citations, handle = prepared()

    shown = show(
        citations, f"a[[{handle}|lease lapses]] b[[{handle}|every eight]] c[[{handle}|lease lapses]]"
    )

    assert shown == "a⟦1⟧ b⟦2⟧ c⟦1⟧"


@pytest.mark.parametrize("blank", ["", "   "])
def test_an_empty_quote_supports_nothing(blank: str) -> None:
    citations, handle = prepared()

    assert show(citations, f"x[[{handle}|{blank}]]") == "x"
    assert citations.removed == 1


@pytest.mark.req("F-CITE-10")
def test_links_and_brackets_in_the_prose_are_left_alone() -> None:
    text = "See [the guide](https://example.org/p1234567) and a[0], [[wiki]], [[p]] and `[[x|y]]`."
    citations, _ = prepared()

    assert show(citations, text) == text
    assert citations.refs == []


def test_a_marker_the_model_forged_is_not_shown() -> None:
    citations, _ = prepared()

    assert show(citations, "Trust me ⟦1⟧.") == "Trust me 1."


def test_a_citation_that_never_closes_is_removed_at_the_end() -> None:
    citations, handle = prepared()

    assert show(citations, f"So [[{handle}|lease la") == "So "
    assert citations.removed == 1


def test_text_is_not_held_back_for_longer_than_a_citation_can_be() -> None:
    citations, handle = prepared()

    shown = citations.feed(f"[[{handle}|" + "x" * 2_000)

    assert shown.startswith(f"[[{handle}|")


@given(st.text(alphabet="ab [p]|1⟦⟧\n", max_size=200))
def test_any_text_at_all_is_shown_or_counted_and_never_breaks(text: str) -> None:
    citations, _ = prepared()

    shown = show(citations, text)

    assert "⟦" not in shown
    assert citations.refs == []


def test_markers_can_be_taken_out_again() -> None:
    assert strip_markers("One ⟦1⟧, two⟦12⟧.") == "One, two."


@pytest.mark.req("F-CITE-05")
def test_the_rules_tell_the_form_that_the_filter_reads() -> None:
    assert "[[handle|quote]]" in CITATION_RULES


def test_what_was_fed_since_a_mark_can_be_taken_back_half_a_citation_as_well() -> None:
    citations, handle = prepared()
    before = citations.feed(f"It lapses [[{handle}|lapses after thirty seconds]] and [[{handle}|renews")
    mark = citations.mark()
    citations.feed(" it every eight]] [[p00000000|x]] and more [")

    citations.return_to(mark)

    assert (citations.removed, len(citations.refs)) == (0, 1)
    assert before + show(citations, " it every eight]].") == "It lapses ⟦1⟧ and ⟦2⟧."


def test_a_mark_does_not_move() -> None:
    citations, handle = prepared()
    mark = citations.mark()
    for _ in range(2):
        citations.feed(f"[[{handle}|lease lapses]]")
        citations.return_to(mark)

    assert citations.refs == []
