"""Each index is there for a way in that needs it: given that way and no other index, no table is read whole.

Which of two indexes is the cheaper one depends on how many rows there are. Here each stands alone, and
reading a table whole is ruled out: a plan tells what an index can do, not what the statistics make of it.
"""

import re

import psycopg
import pytest
from equerry.adapters.postgres.roles import PLATFORM, RUNTIME, SEARCH

from tests.contract.databases import Database
from tests.unit.architecture.data_page import list_structures, read_rows
from tests.unit.architecture.documents import read_names

pytestmark = pytest.mark.postgres

CONSTRAINT = re.compile(r".*_(pkey|key)$")
OTHERS = """
SELECT index.relname FROM pg_index
JOIN pg_class AS index ON index.oid = pg_index.indexrelid
WHERE pg_index.indrelid = (SELECT indrelid FROM pg_index WHERE indexrelid = %(index)s::regclass)
    AND pg_index.indexrelid <> %(index)s::regclass
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = pg_index.indexrelid)
"""
KEY = """
SELECT class.relname, array_agg(attribute.attname::text || '::' || format_type(attribute.atttypid, NULL))
FROM pg_index JOIN pg_class AS class ON class.oid = pg_index.indrelid
JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid AND attribute.attnum = ANY (pg_index.indkey)
WHERE pg_index.indexrelid = %s::regclass GROUP BY 1
"""
HERE = "conversation_id = '00000000-0000-0000-0000-000000000001'"
MINE = "organisation_id = 'acme' AND created_by = 'ada'"
OURS = "organisation_id = 'acme'"
ACTIVE = "state = 'active'"
CURRENT = "superseded_at IS NULL"
VECTOR = "array_fill(0.1::real, ARRAY[384])::vector"
NAMED = "visible_to && ARRAY['user:ada'] AND visible_to <> ARRAY['organisation']"
WAYS = {
    "assistant_actions_accepted": (
        RUNTIME,
        "assistant_actions WHERE organisation_id = 'acme' AND created_at > now() AND tool = 'draft_accepted'",
    ),
    "assistant_actions_activity": (
        RUNTIME,
        f"assistant_actions WHERE {OURS} ORDER BY created_at DESC, run_id DESC, position DESC",
    ),
    "assistant_actions_age": (PLATFORM, "assistant_actions WHERE created_at < now() ORDER BY created_at"),
    "assistant_actions_person": (PLATFORM, "assistant_actions WHERE created_by = 'ada'"),
    "assistant_artifacts_conversation": (RUNTIME, f"assistant_artifacts WHERE {HERE} ORDER BY created_at"),
    "assistant_conversations_active": (
        RUNTIME,
        f"assistant_conversations WHERE {MINE} AND {ACTIVE} ORDER BY updated_at DESC, conversation_id DESC",
    ),
    "assistant_conversations_aging": (
        PLATFORM,
        "assistant_conversations WHERE organisation_id = 'acme' AND updated_at < now() ORDER BY updated_at",
    ),
    "assistant_conversations_creator": (RUNTIME, f"assistant_conversations WHERE {MINE}"),
    "assistant_conversations_person": (PLATFORM, "assistant_conversations WHERE created_by = 'ada'"),
    "assistant_conversations_stale": (
        PLATFORM,
        "assistant_conversations WHERE updated_at < now() ORDER BY updated_at",
    ),
    "assistant_disposals_due": (
        PLATFORM,
        "assistant_disposals WHERE organisation_id = 'acme' AND user_id = 'ada' ORDER BY disposal_id",
    ),
    "assistant_documents_named": (PLATFORM, f"assistant_documents WHERE {NAMED}"),
    "assistant_documents_withdrawn": (
        PLATFORM,
        "assistant_documents WHERE status = 'deleted' AND updated_at < now()",
    ),
    "assistant_drafts_conversation": (RUNTIME, f"assistant_drafts WHERE {HERE} ORDER BY created_at"),
    "assistant_drafts_creator": (PLATFORM, "assistant_drafts WHERE created_by = 'ada'"),
    "assistant_interactions_conversation": (
        PLATFORM,
        f"assistant_interactions WHERE {HERE} ORDER BY created_at",
    ),
    "assistant_messages_transcript": (RUNTIME, f"assistant_messages WHERE {HERE} ORDER BY position"),
    "assistant_passages_document": (
        RUNTIME,
        "assistant_passages WHERE document_id = gen_random_uuid() AND hash = 'h'",
    ),
    "assistant_passages_embedding": (
        SEARCH,
        f"assistant_passages WHERE {CURRENT} ORDER BY embedding <=> {VECTOR} LIMIT 9",
    ),
    "assistant_passages_named": (PLATFORM, f"assistant_passages WHERE {NAMED}"),
    "assistant_passages_readers": (
        SEARCH,
        "assistant_passages WHERE superseded_at IS NULL AND readers && ARRAY['acme/user:ada']",
    ),
    "assistant_passages_superseded": (PLATFORM, "assistant_passages WHERE superseded_at < now()"),
    "assistant_passages_tenant": (
        SEARCH,
        f"assistant_passages WHERE {CURRENT} AND {OURS} AND corpus_id = 'handbook'",
    ),
    "assistant_passages_words": (
        SEARCH,
        "assistant_passages WHERE superseded_at IS NULL AND words @@ 'key'::tsquery",
    ),
    "assistant_run_records_conversation": (PLATFORM, f"assistant_run_records WHERE {HERE}"),
    "assistant_run_records_incident": (
        RUNTIME,
        f"assistant_run_records WHERE {OURS} AND created_at < now() ORDER BY created_at DESC, run_id DESC",
    ),
    "assistant_run_records_profile": (
        RUNTIME,
        f"assistant_run_records WHERE {OURS} AND profile = 'docs' ORDER BY created_at DESC, run_id DESC",
    ),
    "assistant_runs_active": (
        RUNTIME,
        f"assistant_runs WHERE {HERE} AND status <> 'ended' ORDER BY created_at",
    ),
    "assistant_runs_conversation": (PLATFORM, f"assistant_runs WHERE {HERE}"),
    "assistant_steps_conversation": (PLATFORM, f"assistant_steps WHERE {HERE}"),
    "assistant_usage_age": (PLATFORM, "assistant_usage WHERE at < now() ORDER BY at"),
    "assistant_usage_creator": (PLATFORM, "assistant_usage WHERE created_by = 'ada'"),
    "assistant_usage_person": (RUNTIME, f"assistant_usage WHERE {MINE} AND at > now()"),
}


def list_indexes(database: Database) -> set[str]:
    with psycopg.connect(database.superuser_url) as session:
        rows = session.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND tablename LIKE 'assistant%'"
        ).fetchall()
    return {name for (name,) in rows}


def explain(database: Database, index: str, role: str, way: str) -> str:
    """Return the plan of a way in where its table has this index and those of its constraints alone."""
    with psycopg.connect(database.superuser_url) as session:
        for (other,) in session.execute(OTHERS, {"index": index}).fetchall():
            session.execute(f"DROP INDEX {other}")
        session.execute("SET LOCAL enable_seqscan = off")
        session.execute("SET LOCAL enable_sort = off")
        session.execute(f"SET LOCAL ROLE {role}")
        session.execute(
            "SELECT set_config('app.organisation_id', 'acme', true), set_config('app.user_id', 'ada', true)"
        )
        plan = "\n".join(row[0] for row in session.execute(f"EXPLAIN SELECT * FROM {way}").fetchall())
        session.rollback()
    return plan


def is_entered(plan: str, index: str) -> bool:
    """Whether the plan goes into the index by a condition or in its order, and reads no table whole."""
    entered = rf"Index Scan on {index} |Scan using {index} on [^\n]*\n\s+(Index Cond|Order By):"
    return re.search(entered, plan) is not None and "Seq Scan" not in plan


@pytest.mark.req("F-DATA-09")
@pytest.mark.parametrize("index", WAYS)
def test_a_way_in_goes_through_its_index_and_reads_no_table_whole(database: Database, index: str) -> None:
    role, way = WAYS[index]

    plan = explain(database, index, role, way)

    assert is_entered(plan, index), plan


@pytest.mark.req("F-DATA-09")
def test_a_row_is_found_by_its_key_in_every_table(database: Database) -> None:
    for index in sorted(name for name in list_indexes(database) if name.endswith("_pkey")):
        with psycopg.connect(database.superuser_url) as session:
            found = session.execute(KEY, (index,)).fetchone()
        assert found is not None
        table, columns = found
        keyed = " AND ".join(f"{name} = (SELECT NULL::{kind})" for name, kind in map(split, columns))
        plan = explain(database, index, PLATFORM, f"{table} WHERE {keyed}")

        # Another constraint's index may begin with the same key.
        assert "Index Cond" in plan, plan
        assert "Seq Scan" not in plan, plan


def split(column: str) -> tuple[str, str]:
    name, _, kind = column.partition("::")
    return name, kind


@pytest.mark.req("F-DATA-09")
def test_no_index_is_without_a_way_in_and_no_declared_way_without_one_that_is_tried(
    database: Database,
) -> None:
    indexes = list_indexes(database)

    assert {name for name in indexes if not CONSTRAINT.match(name)} == WAYS.keys()
    rows = [read_rows(structure).get("Access", "") for structure in list_structures()]
    declared = {way for row in rows for way in read_names(row) if way.startswith("assistant_")}
    assert declared <= indexes
