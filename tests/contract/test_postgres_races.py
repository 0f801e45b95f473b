"""Publication under contention and interruption: whole or not at all, whoever else writes or reads."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.adapters.postgres.documents import PostgresDocumentAdapter
from equerry.adapters.postgres.search import PostgresLexicalIndexAdapter, PostgresVectorStoreAdapter
from equerry.domain.principal import Scope
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import DocumentId

from tests.contract.corpora import (
    EMBEDDING,
    HANDBOOK,
    PIPELINE,
    build_file,
    build_publication,
    build_vector,
)
from tests.contract.databases import Database, build_scope, new_organisation
from tests.contract.racing import WAITING, wait_for_waiting

pytestmark = pytest.mark.postgres


@pytest.fixture
def admin() -> Scope:
    return build_scope(new_organisation(), "root", role="admin")


@pytest.fixture
def documents(connections: PostgresConnections) -> PostgresDocumentAdapter:
    return PostgresDocumentAdapter(connections)


def announce(
    documents: PostgresDocumentAdapter, admin: Scope, content: str, path: str = "a.md"
) -> DocumentId:
    (announced,) = documents.announce(admin, HANDBOOK, [build_file(path, content)], pipeline_version=PIPELINE)
    return announced.document_id


def read_texts(connections: PostgresConnections, scope: Scope) -> set[str]:
    found = PostgresVectorStoreAdapter(connections).find_nearest(
        scope, build_vector("x"), embedding_version=EMBEDDING, corpora=(HANDBOOK,), limit=200
    )
    return {passage.text for passage, _ in found}


def content_of(version: int) -> str:
    return "\n".join(f"line {line} of version {version}" for line in range(40))


@pytest.mark.req("F-IDX-07")
def test_a_reader_sees_one_version_whole_and_never_a_mixture(
    connections: PostgresConnections, documents: PostgresDocumentAdapter, admin: Scope
) -> None:
    identity = announce(documents, admin, content_of(0))
    documents.publish(admin.organisation_id, build_publication(identity, content_of(0)))
    done = threading.Event()
    words = PostgresLexicalIndexAdapter(connections)

    def watch() -> set[frozenset[str]]:
        seen = set()
        while not done.is_set():
            seen.add(frozenset(read_texts(connections, admin)))
            found = words.find_matching(admin, "line version", corpora=(HANDBOOK,), limit=200)
            seen.add(frozenset(passage.text for passage, _ in found))
        return seen

    with ThreadPoolExecutor(2) as readers:
        watching = [readers.submit(watch) for _ in range(2)]
        for version in range(1, 6):
            announce(documents, admin, content_of(version))
            assert documents.publish(admin.organisation_id, build_publication(identity, content_of(version)))
        done.set()
        seen = set().union(*(reader.result() for reader in watching))

    assert seen <= {frozenset(content_of(version).split("\n")) for version in range(6)}


def test_of_two_publishers_of_one_content_the_second_finds_it_done(
    documents: PostgresDocumentAdapter, admin: Scope
) -> None:
    identity = announce(documents, admin, content_of(1))
    publication = build_publication(identity, content_of(1))

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: documents.publish(admin.organisation_id, publication), range(4)))

    document = documents.find_document(admin.organisation_id, identity)
    assert results == [True] * 4
    assert document is not None
    assert (document.version, document.passages) == (1, 40)


def test_an_announcement_during_a_publication_wins(
    database: Database, connections: PostgresConnections, documents: PostgresDocumentAdapter, admin: Scope
) -> None:
    identity = announce(documents, admin, "one")
    with ThreadPoolExecutor(2) as threads:
        with psycopg.connect(database.superuser_url) as holder:
            holder.execute("SELECT 1 FROM assistant_documents WHERE document_id = %s FOR UPDATE", (identity,))
            announcing = threads.submit(announce, documents, admin, "two")
            wait_for_waiting(database, 1)
            publishing = threads.submit(
                documents.publish, admin.organisation_id, build_publication(identity, "one")
            )
            wait_for_waiting(database, 2)
        announcing.result()
        published = publishing.result()

    # The lock queue decides which of the two came first; either way "two" is what is wanted in the end.
    assert read_texts(connections, admin) == ({"one"} if published else set())
    document = documents.find_document(admin.organisation_id, identity)
    assert document is not None
    assert document.status == "pending"
    assert documents.publish(admin.organisation_id, build_publication(identity, "two"))
    assert read_texts(connections, admin) == {"two"}


def test_a_withdrawal_during_a_publication_leaves_nothing(
    database: Database, connections: PostgresConnections, documents: PostgresDocumentAdapter, admin: Scope
) -> None:
    for _ in range(3):
        identity = announce(documents, admin, content_of(1))
        with ThreadPoolExecutor(2) as threads:
            publishing = threads.submit(
                documents.publish, admin.organisation_id, build_publication(identity, content_of(1))
            )
            withdrawing = threads.submit(documents.withdraw, admin.organisation_id, identity)
            publishing.result()
            assert withdrawing.result()

        assert read_texts(connections, admin) == set()
        assert not documents.publish(admin.organisation_id, build_publication(identity, content_of(1)))


def test_announcements_of_the_same_files_in_another_order_do_not_deadlock(
    documents: PostgresDocumentAdapter, admin: Scope
) -> None:
    files = [build_file(f"{number}.md", "x") for number in range(30)]

    with ThreadPoolExecutor(4) as threads:
        announced = [
            threads.submit(documents.announce, admin, HANDBOOK, order, pipeline_version=PIPELINE)
            for order in (files, files[::-1], files[15:] + files[:15], files)
        ]
        assert all(len(future.result()) == 30 for future in announced)


def test_a_publisher_killed_in_the_middle_leaves_the_old_version(
    database: Database, connections: PostgresConnections, documents: PostgresDocumentAdapter, admin: Scope
) -> None:
    identity = announce(documents, admin, "one")
    documents.publish(admin.organisation_id, build_publication(identity, "one"))
    announce(documents, admin, content_of(2))
    publication = build_publication(identity, content_of(2))
    broken = (*publication.vectors[:-1], (1.0, 2.0))

    with pytest.raises(psycopg.errors.DataException):
        documents.publish(admin.organisation_id, replace(publication, vectors=broken))

    assert read_texts(connections, admin) == {"one"}
    assert documents.publish(admin.organisation_id, publication)
    assert read_texts(connections, admin) == set(content_of(2).split("\n"))


def test_a_publishers_lost_connection_leaves_the_old_version(
    database: Database, documents: PostgresDocumentAdapter, connections: PostgresConnections, admin: Scope
) -> None:
    identity = announce(documents, admin, "one")
    documents.publish(admin.organisation_id, build_publication(identity, "one"))
    announce(documents, admin, "two")
    own = database.connect(max_size=1)

    with psycopg.connect(database.superuser_url) as holder, ThreadPoolExecutor(1) as threads:
        holder.execute("SELECT 1 FROM assistant_documents WHERE document_id = %s FOR UPDATE", (identity,))
        publishing = threads.submit(
            PostgresDocumentAdapter(own).publish, admin.organisation_id, build_publication(identity, "two")
        )
        wait_for_waiting(database, 1)
        holder.execute(f"SELECT pg_terminate_backend(pid) {WAITING}")
        with pytest.raises(Unavailable):
            publishing.result()
    own.close()

    assert read_texts(connections, admin) == {"one"}
    assert documents.publish(admin.organisation_id, build_publication(identity, "two"))
    assert read_texts(connections, admin) == {"two"}
