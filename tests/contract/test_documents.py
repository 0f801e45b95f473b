"""DocumentPort: announcing, publishing, failing and withdrawing, in memory and in PostgreSQL."""

from dataclasses import replace

import pytest
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import CorpusId, DocumentId, OrganisationId

from tests.contract.corpora import (
    EMBEDDING,
    HANDBOOK,
    PIPELINE,
    STORES,
    Library,
    build_file,
    build_publication,
    build_vector,
    hash_text,
    open_library,
    publish,
)
from tests.contract.databases import build_scope, new_organisation


@pytest.fixture(params=STORES)
def library(request: pytest.FixtureRequest) -> Library:
    return open_library(request)


@pytest.fixture
def admin() -> Scope:
    return build_scope(new_organisation(), "root", role="admin")


def member_of(admin: Scope, user: str = "ada", *, projects: tuple[str, ...] = ()) -> Scope:
    return build_scope(admin.organisation_id, user, projects=projects)


def announce(library: Library, scope: Scope, *files: tuple[str, str], pipeline: str = PIPELINE) -> list[bool]:
    announced = library.documents.announce(
        scope, HANDBOOK, [build_file(path, content) for path, content in files], pipeline_version=pipeline
    )
    return [entry.changed for entry in announced]


def test_a_new_file_is_wanted_and_pending(library: Library, admin: Scope) -> None:
    announced = library.documents.announce(
        admin, HANDBOOK, [build_file("b.md", "two"), build_file("a.md", "one")], pipeline_version=PIPELINE
    )

    assert [(entry.path, entry.changed) for entry in announced] == [("b.md", True), ("a.md", True)]
    listed = library.documents.list_documents(admin, HANDBOOK, after=None, limit=10)
    assert [(document.path, document.status, document.version) for document in listed] == [
        ("a.md", "pending", 0),
        ("b.md", "pending", 0),
    ]
    assert listed[1].document_id == announced[0].document_id


def test_an_unchanged_published_file_is_not_wanted_again(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "one")

    assert announce(library, admin, ("a.md", "one")) == [False]
    assert announce(library, admin, ("a.md", "one"), pipeline="chunk-2") == [True]
    assert announce(library, admin, ("a.md", "other")) == [True]


def test_returning_to_what_is_published_needs_no_bytes(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "one")
    announce(library, admin, ("a.md", "two"))

    assert announce(library, admin, ("a.md", "one")) == [False]

    (document,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=10)
    assert (document.status, document.sha256) == ("published", hash_text("one"))


def test_a_failed_file_is_wanted_again(library: Library, admin: Scope) -> None:
    announce(library, admin, ("a.md", "one"))
    (document,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=1)
    library.documents.fail(
        admin.organisation_id, document.document_id, sha256=document.sha256, reason="it is empty"
    )
    (failed,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=1)

    assert announce(library, admin, ("a.md", "one")) == [True]

    (again,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=1)
    assert (failed.status, failed.reason) == ("failed", "it is empty")
    assert (again.status, again.reason) == ("pending", None)


def test_a_published_document_says_what_it_holds(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "guide/a.md", "first line\nsecond line", title="The guide")

    document = library.documents.find_document(admin.organisation_id, identity)

    assert document is not None
    assert (document.corpus_id, document.path, document.title) == (HANDBOOK, "guide/a.md", "The guide")
    assert (document.status, document.version, document.passages, document.embedded) == ("published", 1, 2, 2)
    assert document.sha256 == hash_text("first line\nsecond line")


def test_a_new_version_replaces_the_old_one_whole(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "kept line\nold line")

    publish(library, admin, "a.md", "new line\nkept line", title="Retitled")

    passages = library.list_readable(member_of(admin))
    assert [(passage.text, passage.version, passage.title) for passage in passages] == [
        ("kept line", 1, "Retitled"),
        ("new line", 2, "Retitled"),
    ]
    (document,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=1)
    assert (document.version, document.passages) == (2, 2)


def test_a_repeated_line_is_kept_as_often_as_it_stands_there(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "same\nsame\nother")
    publish(library, admin, "a.md", "same\nsame\nsame")

    assert library.read_texts(member_of(admin)) == ["same", "same", "same"]


def test_a_repeated_publication_changes_nothing(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "one")
    before = library.documents.find_document(admin.organisation_id, identity)

    assert library.documents.publish(admin.organisation_id, build_publication(identity, "one"))

    assert library.documents.find_document(admin.organisation_id, identity) == before
    assert library.read_texts(member_of(admin)) == ["one"]


def test_a_publication_that_was_overtaken_is_ignored(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "one")
    announce(library, admin, ("a.md", "three"))

    assert not library.documents.publish(admin.organisation_id, build_publication(identity, "two"))
    assert not library.documents.publish(
        OrganisationId(new_organisation()), build_publication(identity, "three")
    )

    assert library.read_texts(member_of(admin)) == ["one"]


def test_what_was_published_stays_readable_while_and_after_the_next_version_fails(
    library: Library, admin: Scope
) -> None:
    identity = publish(library, admin, "a.md", "one")
    announce(library, admin, ("a.md", "two"))
    pending = library.read_texts(member_of(admin))

    library.documents.fail(admin.organisation_id, identity, sha256=hash_text("two"), reason="broken")
    library.documents.fail(admin.organisation_id, identity, sha256=hash_text("zero"), reason="stale")

    (document,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=1)
    assert (document.status, document.reason, document.version) == ("failed", "broken", 1)
    assert pending == library.read_texts(member_of(admin)) == ["one"]


def test_a_published_document_does_not_fail_afterwards(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "one")

    library.documents.fail(admin.organisation_id, identity, sha256=hash_text("one"), reason="late")

    (document,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=1)
    assert document.status == "published"


@pytest.mark.req("F-IDX-08")
def test_a_withdrawn_document_is_gone_from_both_indexes_at_once(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "rotate keys")
    cited = library.list_readable(member_of(admin))[0].passage_id

    assert library.documents.withdraw(admin.organisation_id, identity)

    assert library.read_texts(member_of(admin)) == []
    assert library.search_texts(member_of(admin), "rotate keys") == []
    with pytest.raises(NotFound):
        library.passages.fetch_passage(member_of(admin), cited)
    assert library.documents.list_documents(admin, HANDBOOK, after=None, limit=10) == ()
    assert not library.documents.withdraw(admin.organisation_id, identity)
    assert not library.documents.publish(admin.organisation_id, build_publication(identity, "rotate keys"))


def test_a_withdrawn_document_that_comes_back_starts_anew(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "one")
    cited = library.list_readable(member_of(admin))[0].passage_id
    library.documents.withdraw(admin.organisation_id, identity)

    assert announce(library, admin, ("a.md", "one")) == [True]
    assert library.find_vectors_of(admin, identity, "one") == {}
    publish(library, admin, "a.md", "one")

    assert library.read_texts(member_of(admin)) == ["one"]
    with pytest.raises(NotFound):
        library.passages.fetch_passage(member_of(admin), cited)


def test_a_withdrawal_elsewhere_does_nothing(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "one")

    assert not library.documents.withdraw(OrganisationId(new_organisation()), identity)
    assert library.documents.find_document(OrganisationId(new_organisation()), identity) is None
    assert library.read_texts(member_of(admin)) == ["one"]


def test_documents_are_paged_by_path(library: Library, admin: Scope) -> None:
    announce(library, admin, *((f"{name}.md", name) for name in ("c", "a", "B", "ä", "b/x")))

    first = library.documents.list_documents(admin, HANDBOOK, after=None, limit=2)
    rest = library.documents.list_documents(admin, HANDBOOK, after=first[-1].path, limit=10)

    assert [document.path for document in (*first, *rest)] == ["B.md", "a.md", "b/x.md", "c.md", "ä.md"]


@pytest.mark.parametrize("after", ["a\0", "a\0.md", "\0"])
def test_a_page_may_start_after_a_path_that_no_document_can_have(
    library: Library, admin: Scope, after: str
) -> None:
    announce(library, admin, ("a", "one"), ("a.md", "two"), ("b.md", "three"))

    found = library.documents.list_documents(admin, HANDBOOK, after=after, limit=10)

    expected = ["a", "a.md", "b.md"]
    assert [document.path for document in found] == [path for path in expected if path > after]


def test_a_path_of_1024_bytes_that_compress_badly_is_kept(library: Library, admin: Scope) -> None:
    path = "".join(chr(0x10000 + number * 7919 % 0x10000) for number in range(256))

    assert announce(library, admin, (path, "one")) == [True]

    (document,) = library.documents.list_documents(admin, HANDBOOK, after=None, limit=10)
    assert document.path == path


def test_an_unknown_corpus_has_no_list(library: Library, admin: Scope) -> None:
    publish(library, admin, "a.md", "one")
    elsewhere = build_scope(new_organisation(), "root", role="admin")

    with pytest.raises(NotFound):
        library.documents.list_documents(admin, CorpusId("other"), after=None, limit=10)
    with pytest.raises(NotFound):
        library.documents.list_documents(elsewhere, HANDBOOK, after=None, limit=10)


@pytest.mark.req("F-RPERM-03", "F-RPERM-09")
def test_corpora_count_only_what_the_reader_may_see(library: Library, admin: Scope) -> None:
    publish(library, admin, "open.md", "one\ntwo")
    publish(library, admin, "closed.md", "a\nb\nc", visible_to=("project:apollo",))
    publish(library, admin, "x.md", "x", corpus=CorpusId("secret"), visible_to=("user:ben",))
    announce(library, admin, ("waiting.md", "w"))

    def counts(scope: Scope) -> list[tuple[str, int, int, int]]:
        return [
            (corpus.corpus_id, corpus.documents, corpus.passages, corpus.pending)
            for corpus in library.documents.list_corpora(scope)
        ]

    assert counts(admin) == [("handbook", 3, 5, 1), ("secret", 1, 1, 0)]
    assert counts(member_of(admin)) == [("handbook", 2, 2, 1)]
    assert counts(member_of(admin, projects=("apollo",))) == [("handbook", 3, 5, 1)]
    assert counts(member_of(admin, "ben")) == [("handbook", 2, 2, 1), ("secret", 1, 1, 0)]
    assert counts(build_scope(new_organisation(), "root", role="admin")) == []


def test_a_corpus_without_a_document_to_read_is_unknown(library: Library, admin: Scope) -> None:
    publish(library, admin, "x.md", "x", visible_to=("user:ben",))
    withdrawn = publish(library, admin, "y.md", "y", corpus=CorpusId("old"))
    library.documents.withdraw(admin.organisation_id, withdrawn)

    def list_paths(scope: Scope, corpus: str) -> list[str]:
        found = library.documents.list_documents(scope, CorpusId(corpus), after=None, limit=10)
        return [document.path for document in found]

    assert list_paths(member_of(admin, "ben"), "handbook") == ["x.md"]
    assert list_paths(admin, "old") == []
    for scope, corpus in ((member_of(admin), "handbook"), (member_of(admin), "old")):
        with pytest.raises(NotFound):
            list_paths(scope, corpus)


@pytest.mark.req("F-IDX-05")
def test_vectors_of_earlier_versions_are_found_by_chunk_and_model(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "one\ntwo")
    publish(library, admin, "a.md", "two\nthree")

    found = library.documents.find_vectors(
        admin.organisation_id,
        identity,
        [hash_text(line) for line in ("one", "two", "three", "four")],
        embedding_version=EMBEDDING,
    )

    assert set(found) == {hash_text(line) for line in ("one", "two", "three")}
    assert found[hash_text("one")] == pytest.approx(build_vector("one"), abs=1e-6)
    assert (
        library.documents.find_vectors(
            admin.organisation_id, identity, [hash_text("one")], embedding_version="model-2"
        )
        == {}
    )
    assert (
        library.documents.find_vectors(
            OrganisationId(new_organisation()), identity, [hash_text("one")], embedding_version=EMBEDDING
        )
        == {}
    )


def test_a_changed_embedding_model_replaces_every_vector(library: Library, admin: Scope) -> None:
    identity = publish(library, admin, "a.md", "one")
    announce(library, admin, ("a.md", "one"), pipeline="pipeline-2")
    second = replace(
        build_publication(identity, "one", pipeline="pipeline-2"),
        embedding_version="model-2",
        vectors=(build_vector("one in model 2"),),
    )

    assert library.documents.publish(admin.organisation_id, second)

    reader = member_of(admin)
    assert library.read_texts(reader) == []
    ((passage, score),) = library.vectors.find_nearest(
        reader,
        build_vector("one in model 2"),
        embedding_version="model-2",
        corpora=(HANDBOOK,),
        limit=5,
    )
    assert (passage.text, passage.version) == ("one", 2)
    assert score == pytest.approx(1.0, abs=1e-5)


def test_an_unknown_document_cannot_be_published(library: Library, admin: Scope) -> None:
    unknown = DocumentId("00000000-0000-0000-0000-000000000000")

    assert not library.documents.publish(admin.organisation_id, build_publication(unknown, "one"))
