"""Each way into runs' records, steps, usage and audit goes through an index, however much there is."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from equerry.adapters.postgres import activity, records, steps, transcripts

from local.postgres import EmbeddedPostgres
from tests.contract.databases import Database, build_database
from tests.fakes.clock import NOON

pytestmark = pytest.mark.postgres

ROWS = 4_000
RUN = UUID(int=7)
FILL = """
INSERT INTO assistant_conversations
    (conversation_id, organisation_id, created_by, profile, title, created_at, updated_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, 'org-' || n %% 4, 'user-' || n %% 100, 'docs', 't', %(noon)s, %(noon)s
FROM generate_series(1, %(rows)s) AS n;
INSERT INTO assistant_messages
    (message_id, conversation_id, organisation_id, created_by, run_id, role, content, created_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 'org-' || n %% 4, 'user-' || n %% 100,
    lpad(to_hex(n), 32, '0')::uuid, 'user', '?', %(noon)s FROM generate_series(1, %(rows)s) AS n;
INSERT INTO assistant_run_records
    (run_id, conversation_id, organisation_id, created_by, profile, mode, mode_reason, created_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 'org-' || n %% 4, 'user-' || n %% 100,
    CASE n %% 50 WHEN 0 THEN 'help' ELSE 'docs' END, 'queued', 'x',
    %(noon)s::timestamptz - n * interval '1 hour'
FROM generate_series(1, %(rows)s) AS n;
INSERT INTO assistant_steps
    (run_id, position, conversation_id, organisation_id, created_by, call_id, tool, label, arguments,
     started_at)
SELECT run_id, p, conversation_id, organisation_id, created_by, 'c', 'look', 'Looking', '{}', created_at
FROM assistant_run_records, generate_series(0, 2) AS p;
INSERT INTO assistant_usage
SELECT run_id, conversation_id, organisation_id, created_by, profile, null, 'chat', mode, null, null, 1, 1,
    0, 0, 0, true, null, null, 3, 2, 900, created_at FROM assistant_run_records;
INSERT INTO assistant_actions
    (run_id, call_id, conversation_id, organisation_id, created_by, position, tool, arguments, ok,
     duration_ms, created_at)
SELECT run_id, 'c', conversation_id, organisation_id, created_by, position,
    CASE position WHEN 0 THEN 'draft_accepted' ELSE 'look' END, '{}', true, 1, started_at
FROM assistant_steps;
"""


@pytest.fixture(scope="module")
def filled(postgres: EmbeddedPostgres) -> Database:
    database = build_database(postgres)
    with psycopg.connect(database.superuser_url) as session:
        for statement in FILL.split(";\n"):
            if statement.strip():
                session.execute(statement, {"noon": NOON, "rows": ROWS})
    with psycopg.connect(database.superuser_url, autocommit=True) as session:
        session.execute("VACUUM ANALYZE")
    return database


@contextmanager
def as_administrator(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.superuser_url) as session:
        session.execute("SET ROLE equerry_runtime")
        session.execute(
            "SELECT set_config('app.organisation_id', 'org-3', true),"
            " set_config('app.user_id', 'user-7', true), set_config('app.role', 'admin', true)"
        )
        yield session


INCIDENT = {"organisation": "org-3", "limit": 20, "run_id": RUN, "at": NOON, "since": NOON, "before": NOON}
ACTIVITY = {
    **dict.fromkeys(("tool", "exclude_tool", "since", "before", "outcome", "at", "run_id", "position")),
    "limit": 51,
}
PLACE = {"run_id": RUN, "first": 1_000_000, "apart": 1_000_000}


def list_where(*conditions: str) -> str:
    asked = ["record.organisation_id = %(organisation)s", *(records._WHERE[name] for name in conditions)]
    return f"{records._SELECT} WHERE {' AND '.join(asked)} {records._ORDER}"


WAYS: dict[str, tuple[str, object]] = {
    "one record": (records._FETCH, (RUN,)),
    "an organisation's records": (list_where(), INCIDENT),
    "an incident's records": (list_where("since", "before"), INCIDENT),
    "the next page": (list_where("at"), INCIDENT),
    "a profile's records": (list_where("profile"), {**INCIDENT, "profile": "help"}),
    "named records": (list_where("run_ids"), {**INCIDENT, "run_ids": [RUN]}),
    "runs' steps": (records._STEPS, ([RUN],)),
    "a transcript with its steps": (transcripts._LIST_MESSAGES, (RUN, 200)),
    "what was begun and never ended": (steps._AUDIT_UNREPORTED, (NOON, RUN)),
    "what was retrieved for a person": (records._COUNT, ("org-3", "user-7", NOON - timedelta(days=100))),
    "the organisation's activity": (activity._LIST, ACTIVITY),
    "accepted drafts": (activity._FATIGUE, ("org-3", NOON - timedelta(days=100))),
    "a place for a draft": (
        activity._PLACE + activity._DRAFT,
        {
            **PLACE,
            **dict.fromkeys(("draft_id", "tool", "outcome", "target", "operation", "applied_record"), "x"),
            "conversation_id": RUN,
            "organisation": "org-3",
            "user": "user-7",
            "edited": None,
            "at": NOON,
        },
    ),
}

INDEXES = {
    "one record": "assistant_run_records_pkey",
    "an organisation's records": "assistant_run_records_incident",
    "an incident's records": "assistant_run_records_incident",
    "the next page": "assistant_run_records_incident",
    "a profile's records": "assistant_run_records_profile",
    "named records": "assistant_run_records_pkey",
    "runs' steps": "assistant_steps_pkey",
    "a transcript with its steps": "assistant_steps_pkey",
    "what was begun and never ended": "assistant_steps_pkey",
    "what was retrieved for a person": "assistant_usage_person",
    "the organisation's activity": "assistant_actions_activity",
    "accepted drafts": "assistant_actions_accepted",
    "a place for a draft": "assistant_actions_pkey",
}


@pytest.mark.req("F-DATA-09")
@pytest.mark.parametrize("way", WAYS)
def test_no_way_in_scans_a_whole_table(filled: Database, way: str) -> None:
    statement, values = WAYS[way]
    with as_administrator(filled) as session:
        cursor = psycopg.ClientCursor(session)
        assert isinstance(values, Mapping | tuple)
        cursor.execute("EXPLAIN " + statement, values)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "Seq Scan" not in plan, plan
    assert INDEXES[way] in plan, plan
