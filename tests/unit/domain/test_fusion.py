"""Fusion and packing: weights decide, repeats and budgets are kept."""

import pytest
from equerry.domain.corpora import Passage
from equerry.domain.fusion import FusionWeights, fuse
from equerry.domain.packing import pack_passages
from equerry.kernel.identifiers import CorpusId, DocumentId, PassageId
from hypothesis import given
from hypothesis import strategies as st

RANKS = FusionWeights(method="ranks", semantic=1.0, lexical=1.0, least_similarity=-1)
ranked = st.lists(
    st.tuples(st.integers(0, 30), st.floats(0.01, 1)), unique_by=lambda entry: entry[0], max_size=20
).map(lambda found: sorted(found, key=lambda entry: -entry[1]))


@given(ranked, ranked, st.sampled_from([RANKS, FusionWeights(least_similarity=-1)]))
def test_fusion_keeps_every_key_once_in_order_of_its_score(
    semantic: list[tuple[int, float]], lexical: list[tuple[int, float]], weights: FusionWeights
) -> None:
    fused = fuse(semantic, lexical, weights)

    assert sorted(key for key, _ in fused) == sorted({key for key, _ in (*semantic, *lexical)})
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    assert fuse(semantic, lexical, weights) == fused


@pytest.mark.req("F-FUSE-01")
def test_by_rank_only_the_places_count() -> None:
    once = fuse([("a", 0.9), ("b", 0.2)], [("b", 80.0), ("c", 1.0)], RANKS)
    again = fuse([("a", 0.31), ("b", 0.3)], [("b", 2.0), ("c", 0.1)], RANKS)

    assert once == again
    assert [key for key, _ in once] == ["b", "a", "c"]


def test_by_score_meaning_leads_and_words_decide_between_neighbours() -> None:
    fused = fuse([("a", 0.62), ("b", 0.60), ("c", 0.2)], [("b", 0.9), ("d", 0.8)], FusionWeights())

    assert [key for key, _ in fused] == ["b", "a", "c", "d"]


def test_what_is_too_unlike_the_query_counts_as_not_found() -> None:
    weights = FusionWeights(least_similarity=0.3)

    assert fuse([("a", 0.29)], [], weights) == ()
    assert [key for key, _ in fuse([("a", 0.29), ("b", 0.3)], [("a", 1.0)], weights)] == ["b", "a"]


def test_nothing_fused_is_nothing() -> None:
    assert fuse([], [], FusionWeights()) == ()


@pytest.mark.parametrize("wrong", [{"semantic": -1.0}, {"semantic": 0.0, "lexical": 0.0}, {"rank_offset": 0}])
def test_weights_without_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        FusionWeights(**wrong)  # type: ignore[arg-type]  # a table of single arguments


def build_passage(identity: str, *, tokens: int = 10, text: str | None = None) -> Passage:
    return Passage(
        passage_id=PassageId(identity),
        document_id=DocumentId("d"),
        corpus_id=CorpusId("c"),
        title="T",
        heading_path=(),
        text=text or f"text of {identity}",
        source_path="a.md",
        version=1,
        token_count=tokens,
    )


def test_packing_stays_within_limit_and_budget_and_keeps_the_order() -> None:
    passages = [build_passage(f"p{n}", tokens=tokens) for n, tokens in enumerate((60, 50, 30, 10, 5))]

    assert [kept.passage_id for kept in pack_passages(passages, limit=9, token_budget=100)] == [
        "p0",
        "p2",
        "p3",
    ]
    assert [kept.passage_id for kept in pack_passages(passages, limit=2, token_budget=999)] == ["p0", "p1"]


def test_the_best_passage_is_kept_whatever_its_size() -> None:
    passages = [build_passage("p0", tokens=500), build_passage("p1", tokens=1)]

    assert [kept.passage_id for kept in pack_passages(passages, limit=9, token_budget=100)] == ["p0"]


def test_a_repeated_text_is_packed_once() -> None:
    passages = [build_passage("p0", text="Same  text."), build_passage("p1", text="Same text.\n")]

    assert [kept.passage_id for kept in pack_passages(passages, limit=9, token_budget=100)] == ["p0"]


def test_nothing_to_pack_is_nothing() -> None:
    assert pack_passages([], limit=5, token_budget=100) == ()
