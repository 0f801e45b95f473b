"""The search functions find what the policies allow, whoever asks and whatever lies there."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.databases import Database

pytestmark = pytest.mark.postgres

ORGANISATIONS = ("north", "nor", "south/user")
CORPORA = ("handbook", "minutes")
USERS = ("ada", "ben", "ada,project:apollo")
PROJECTS = ("apollo", "zeus", "apollo/x")
READERS = ("organisation", *(f"user:{user}" for user in USERS), *(f"project:{one}" for one in PROJECTS))
VECTOR = "[" + ",".join(["0.05"] * 384) + "]"
DOCUMENTS = """
INSERT INTO assistant_documents
    (document_id, organisation_id, corpus_id, path, title, status, sha256, size_bytes, visible_to)
SELECT gen_random_uuid(), organisation_id, corpus_id, 'a', 'A', 'published', '', 0, '{organisation}'
FROM assistant_corpora WHERE organisation_id = ANY (%s)
"""
PASSAGE = """
INSERT INTO assistant_passages
    (organisation_id, corpus_id, document_id, version, ordinal, title, source_path, heading_path, text,
     token_count, hash, embedding, embedding_version, visible_to, superseded_at, withdrawn_at)
SELECT organisation_id, corpus_id, document_id, 1, %(place)s, 'A', 'a', '{}', 'key', 1, 'h',
    %(vector)s::vector, 'm', %(visible_to)s, CASE WHEN %(state)s <> 'current' THEN now() END,
    CASE WHEN %(state)s = 'withdrawn' THEN now() END
FROM assistant_documents WHERE organisation_id = %(organisation)s AND corpus_id = %(corpus)s
"""
ASK = """
SELECT set_config('app.organisation_id', %(organisation)s, true), set_config('app.user_id', %(user)s, true),
    set_config('app.project_ids', %(projects)s, true), set_config('app.role', %(role)s, true)
"""
BY_POLICY = """
SELECT passage_id FROM assistant_passages
WHERE superseded_at IS NULL AND (%(corpora)s::text[] IS NULL OR corpus_id = ANY (%(corpora)s))
"""
BY_FUNCTION = {
    "the graph": "SELECT passage_id FROM equerry_find_nearest(%(vector)s::vector, 'm', %(corpora)s, 99)",
    "exactly": "SELECT passage_id FROM equerry_find_nearest_exact(%(vector)s::vector, 'm', %(corpora)s, 99)",
    "by words": "SELECT passage_id FROM equerry_find_matching('key', %(corpora)s, 99)",
}


@dataclass(frozen=True)
class Lying:
    """A passage, whose it is and who reads it."""

    organisation: str
    corpus: str
    visible_to: tuple[str, ...]
    state: str


lying = st.builds(
    Lying,
    organisation=st.sampled_from(ORGANISATIONS),
    corpus=st.sampled_from(CORPORA),
    visible_to=st.lists(st.sampled_from(READERS), min_size=1, max_size=3, unique=True).map(tuple),
    state=st.sampled_from(("current", "current", "current", "superseded", "withdrawn")),
)
askers = st.fixed_dictionaries(
    {
        "organisation": st.sampled_from((*ORGANISATIONS, "")),
        "user": st.sampled_from((*USERS, "")),
        "projects": st.lists(st.sampled_from(PROJECTS), max_size=2, unique=True).map(",".join),
        "role": st.sampled_from(("member", "admin")),
    }
)
named = st.one_of(st.none(), st.lists(st.sampled_from((*CORPORA, "unknown")), max_size=2, unique=True))


@pytest.fixture(scope="module")
def session(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.superuser_url) as session:
        yield session


def lay(session: psycopg.Connection, passages: list[Lying]) -> None:
    session.execute(
        "INSERT INTO assistant_corpora SELECT * FROM unnest(%s::text[]) AS o, unnest(%s::text[]) AS c",
        (list(ORGANISATIONS), list(CORPORA)),
    )
    session.execute(DOCUMENTS, (list(ORGANISATIONS),))
    for place, one in enumerate(passages):
        values = {"place": place, "vector": VECTOR, "organisation": one.organisation, "corpus": one.corpus}
        session.execute(PASSAGE, values | {"visible_to": list(one.visible_to), "state": one.state})


@pytest.mark.req("F-RPERM-02", "F-RPERM-04", "F-RPERM-05", "F-TENV-01")
@given(passages=st.lists(lying, max_size=8), asker=askers, corpora=named)
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_every_search_finds_what_the_policy_shows_and_nothing_else(
    session: psycopg.Connection, passages: list[Lying], asker: dict[str, str], corpora: list[str] | None
) -> None:
    asked = {"corpora": corpora, "vector": VECTOR}
    try:
        lay(session, passages)
        session.execute("SET LOCAL ROLE equerry_runtime")
        session.execute(ASK, asker)
        shown = set(session.execute(BY_POLICY, asked).fetchall())
        for how, search in BY_FUNCTION.items():
            assert set(session.execute(search, asked).fetchall()) == shown, how
    finally:
        session.rollback()
