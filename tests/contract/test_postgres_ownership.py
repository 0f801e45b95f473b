"""Whose tables these are: one service's, and within it one organisation's at a time."""

import psycopg
import pytest

from tests.contract.databases import Database

GRANTS = """
SELECT DISTINCT grantee FROM information_schema.role_table_grants
WHERE table_schema = 'public' AND table_name LIKE 'assistant_%'
"""
TENANT_POLICIES = """
SELECT tablename, bool_and(coalesce(qual, with_check) LIKE '%equerry_organisation()%')
FROM pg_policies
WHERE schemaname = 'public' AND 'equerry_runtime' = ANY (roles) AND permissive = 'PERMISSIVE'
GROUP BY tablename
"""
SERVED = """
SELECT DISTINCT table_name FROM information_schema.role_table_grants
WHERE table_schema = 'public' AND grantee = 'equerry_runtime'
"""


@pytest.mark.req("A-SVC-01")
def test_nobody_but_the_services_own_roles_may_touch_its_tables(database: Database) -> None:
    with psycopg.connect(database.superuser_url) as session:
        grantees = {row[0] for row in session.execute(GRANTS).fetchall()}

    ours = {"equerry_owner", "equerry_runtime", "equerry_platform", "equerry_search", "equerry_membership"}
    assert grantees <= ours


@pytest.mark.req("A-SVC-04")
def test_every_table_that_serves_requests_is_the_asking_organisations_alone(database: Database) -> None:
    with psycopg.connect(database.superuser_url) as session:
        scoped: dict[str, bool] = dict(session.execute(TENANT_POLICIES).fetchall())
        tables = {row[0] for row in session.execute(SERVED).fetchall()}

    assert set(scoped) == tables
    assert all(scoped.values()), scoped
