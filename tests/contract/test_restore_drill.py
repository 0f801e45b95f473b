"""A restored database answers as the one it was dumped from, its index made again from the passages' text."""

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.embedded.minilm import MiniLmEmbeddingAdapter

from local.places import ROOT
from local.postgres import EmbeddedPostgres
from local.restore_drill import ask, index_documents, rebuild, restore, score
from tests.contract.databases import Database, build_database

pytestmark = pytest.mark.postgres
PAGES = ("backup.md", "data-life.md", "projects.md")


@pytest.mark.req("F-BKP-02", "F-BKP-01")
def test_searches_score_after_a_restore_as_they_did_before(
    postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    embedding, source = MiniLmEmbeddingAdapter(), build_database(postgres)
    connections = source.connect()
    cases = index_documents(connections, embedding, [ROOT / "docs" / page for page in PAGES])
    before = ask(connections, embedding, cases)
    connections.close()
    with psycopg.connect(source.superuser_url) as session:
        (counted,) = session.execute("SELECT count(*) FROM assistant_passages").fetchone() or (0,)

    name = f"restored_{uuid4().hex[:12]}"
    restored = Database(postgres, name)
    assert rebuild(restore(source.superuser_url, name, tmp_path / "dump"), embedding) == counted > len(PAGES)

    connections = restored.connect()
    after = ask(connections, embedding, cases)
    connections.close()
    assert score(cases, after) == score(cases, before)
    assert all(scores.recall > 0.5 for scores in score(cases, before).values())
