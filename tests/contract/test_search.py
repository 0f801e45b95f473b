"""VectorStorePort, LexicalIndexPort and PassagePort: filtered before ranked, in memory and in PostgreSQL."""

import pytest
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import CorpusId, PassageId

from tests.contract.corpora import EMBEDDING, HANDBOOK, STORES, Library, build_vector, open_library, publish
from tests.contract.databases import build_scope, new_organisation


@pytest.fixture(params=STORES)
def library(request: pytest.FixtureRequest) -> Library:
    return open_library(request)


@pytest.fixture
def admin() -> Scope:
    return build_scope(new_organisation(), "root", role="admin")


@pytest.fixture
def ada(admin: Scope) -> Scope:
    return build_scope(admin.organisation_id, "ada")


def test_the_nearest_passage_comes_first_with_its_similarity(
    library: Library, admin: Scope, ada: Scope
) -> None:
    publish(library, admin, "a.md", "one\ntwo\nthree")

    found = library.vectors.find_nearest(
        ada, build_vector("two"), embedding_version=EMBEDDING, corpora=(HANDBOOK,), limit=2
    )

    assert len(found) == 2
    assert found[0][0].text == "two"
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    assert -1 <= found[1][1] < found[0][1]


@pytest.mark.req("F-IDX-11")
def test_vectors_of_another_model_are_never_compared(library: Library, admin: Scope, ada: Scope) -> None:
    publish(library, admin, "a.md", "one")

    found = library.vectors.find_nearest(
        ada, build_vector("one"), embedding_version="model-0", corpora=(HANDBOOK,), limit=5
    )

    assert found == ()


def test_passages_with_every_word_come_before_those_with_some(
    library: Library, admin: Scope, ada: Scope
) -> None:
    lines = (
        "key key key key in the drawer",
        "rotate the signing key yearly",
        "the signing ceremony of the key",
        "nothing of this kind",
    )
    publish(library, admin, "a.md", "\n".join(lines))

    found = library.words.find_matching(ada, "rotate signing key", corpora=(HANDBOOK,), limit=10)

    assert [passage.text for passage, _ in found] == [lines[1], lines[2], lines[0]]
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "'; DROP TABLE assistant_passages; --",
        "key & | ! ( ) : * <-> \\",
        "a:* !b <2> c",
        '"unbalanced',
        "\0 key \x01 \u2028 key",
        "ключ 鍵 🔑",
        "key " * 3000,
        "it's O'Reilly's \\' key",
    ],
)
def test_a_persons_words_are_never_a_query_language(
    library: Library, admin: Scope, ada: Scope, query: str
) -> None:
    publish(library, admin, "a.md", "the key")

    found = library.search_texts(ada, query)

    assert found in ([], ["the key"])
    if "key" in query:
        assert found == ["the key"]


@pytest.mark.req("F-IDX-01", "F-IDX-06")
def test_both_indexes_hold_the_same_passages(library: Library, admin: Scope, ada: Scope) -> None:
    publish(library, admin, "a.md", "key one\nkey two")
    publish(library, admin, "b.md", "key three")
    publish(library, admin, "a.md", "key two\nkey four")

    by_words = library.words.find_matching(ada, "key", corpora=(HANDBOOK,), limit=50)

    by_meaning = library.list_readable(ada)
    assert {passage for passage, _ in by_words} == set(by_meaning)
    assert sorted(passage.text for passage in by_meaning) == ["key four", "key three", "key two"]


def test_the_limit_holds_in_both_indexes(library: Library, admin: Scope, ada: Scope) -> None:
    publish(library, admin, "a.md", "\n".join(f"key number {number}" for number in range(30)))

    assert len(library.search_texts(ada, "key number 7", limit=5)) == 5
    found = library.vectors.find_nearest(
        ada, build_vector("x"), embedding_version=EMBEDDING, corpora=(HANDBOOK,), limit=7
    )
    assert len(found) == 7


def test_only_the_named_corpora_are_searched(library: Library, admin: Scope, ada: Scope) -> None:
    publish(library, admin, "a.md", "key one")
    publish(library, admin, "a.md", "key two", corpus=CorpusId("other"))

    assert library.read_texts(ada) == ["key one"]
    assert library.read_texts(ada, corpora=("handbook", "other")) == ["key one", "key two"]
    assert library.read_texts(ada, corpora=()) == []
    assert library.words.find_matching(ada, "key", corpora=(), limit=5) == ()
    assert library.search_texts(ada, "key") == ["key one"]


@pytest.mark.req("F-RPERM-02", "F-RPERM-04", "F-RPERM-09")
def test_readers_with_partial_access_get_exactly_their_part(library: Library, admin: Scope) -> None:
    publish(library, admin, "open.md", "budget for all")
    publish(library, admin, "apollo.md", "budget of apollo", visible_to=("project:apollo",))
    publish(library, admin, "ben.md", "budget of ben", visible_to=("user:ben", "project:zeus"))
    other = build_scope(new_organisation(), "root", role="admin")
    publish(library, other, "open.md", "budget elsewhere")
    expected = {
        build_scope(admin.organisation_id, "ada"): ["budget for all"],
        build_scope(admin.organisation_id, "ada", projects=("apollo", "gaia")): [
            "budget for all",
            "budget of apollo",
        ],
        build_scope(admin.organisation_id, "ben"): ["budget for all", "budget of ben"],
        build_scope(admin.organisation_id, "root", role="admin"): ["budget for all"],
        build_scope(other.organisation_id, "ben", projects=("apollo", "zeus")): ["budget elsewhere"],
        build_scope(new_organisation(), "ben", projects=("apollo",)): [],
    }

    for scope, texts in expected.items():
        assert sorted(library.read_texts(scope)) == texts, scope
        assert sorted(library.search_texts(scope, "the budget")) == texts, scope


@pytest.mark.req("A-PROJ-02")
def test_a_passage_says_through_which_projects_its_reader_sees_it(library: Library, admin: Scope) -> None:
    publish(library, admin, "open.md", "budget for all", visible_to=("organisation", "project:apollo"))
    publish(library, admin, "both.md", "budget of two", visible_to=("project:gaia", "project:apollo"))
    publish(library, admin, "ben.md", "budget of ben", visible_to=("user:ben", "project:zeus"))

    def shared(user: str, *projects: str) -> dict[str, tuple[str, ...]]:
        scope = build_scope(admin.organisation_id, user, projects=projects)
        by_words = library.words.find_matching(scope, "budget", corpora=(HANDBOOK,), limit=9)
        by_meaning = library.vectors.find_nearest(
            scope, build_vector("budget"), embedding_version=EMBEDDING, corpora=(HANDBOOK,), limit=9
        )
        found: dict[str, tuple[str, ...]] = {passage.text: passage.project_ids for passage, _ in by_words}
        assert found == {passage.text: passage.project_ids for passage, _ in by_meaning}
        fetched = [library.passages.fetch_passage(scope, passage.passage_id) for passage, _ in by_words]
        assert found == {passage.text: passage.project_ids for passage in fetched}
        return found

    assert shared("ada", "gaia", "zeus") == {
        "budget for all": (),
        "budget of two": ("gaia",),
        "budget of ben": ("zeus",),
    }
    assert shared("ben", "gaia", "apollo", "zeus") == {
        "budget for all": (),
        "budget of two": ("apollo", "gaia"),
        "budget of ben": (),
    }


@pytest.mark.req("F-RPERM-05")
def test_without_an_organisation_there_is_nothing(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "key")
    nobody = build_scope("", "ada")

    assert library.read_texts(nobody) == []
    assert library.search_texts(nobody, "key") == []


def test_hidden_passages_leave_no_trace_in_scores_or_number(
    library: Library, admin: Scope, ada: Scope
) -> None:
    publish(library, admin, "open.md", "alpha key\nbeta key")
    before = library.words.find_matching(ada, "alpha key", corpora=(HANDBOOK,), limit=10)

    hidden = "\n".join(f"alpha key {number}" for number in range(40))
    publish(library, admin, "hidden.md", hidden, visible_to=("user:ben",))

    assert library.words.find_matching(ada, "alpha key", corpora=(HANDBOOK,), limit=10) == before
    assert len(library.read_texts(ada)) == 2


@pytest.mark.req("F-RET-06")
def test_a_cited_passage_can_be_opened_after_it_was_replaced(
    library: Library, admin: Scope, ada: Scope
) -> None:
    publish(library, admin, "a.md", "old rule")
    cited = library.list_readable(ada)[0]
    publish(library, admin, "a.md", "new rule")

    opened = library.passages.fetch_passage(ada, cited.passage_id)

    assert (opened.text, opened.version, opened.source_path) == ("old rule", 1, "a.md")
    assert library.read_texts(ada) == ["new rule"]
    assert library.search_texts(ada, "old rule") == ["new rule"]


@pytest.mark.req("F-RPERM-06")
def test_a_passage_that_is_not_ones_own_is_like_an_unknown_one(
    library: Library, admin: Scope, ada: Scope
) -> None:
    publish(library, admin, "a.md", "secret", visible_to=("user:ben",))
    ben = build_scope(admin.organisation_id, "ben")
    secret = library.list_readable(ben)[0].passage_id
    strangers = [ada, admin, build_scope(new_organisation(), "ben")]

    for scope in strangers:
        for wanted in (secret, PassageId("00000000-0000-0000-0000-000000000000"), PassageId("x")):
            with pytest.raises(NotFound, match=r"^there is no such passage$"):
                library.passages.fetch_passage(scope, wanted)
    assert library.passages.fetch_passage(ben, secret).text == "secret"
