"""Nothing is kept without a rule for how long, and for what happens when its person or organisation goes."""

import psycopg
import pytest
from equerry.domain.data_rules import DataRule, list_rules

from tests.contract.databases import Database

pytestmark = pytest.mark.postgres
BOOKKEEPING = "yoyo|_yoyo|equerry_migration"
ERASABLE = {"by_creator": "created_by", "with_conversation": "conversation_id", "by_reader": "visible_to"}


@pytest.fixture
def columns(database: Database) -> dict[str, set[str]]:
    """Every table's columns, as the catalogue has them."""
    with psycopg.connect(database.superuser_url) as session:
        return read_columns(session)


def read_columns(session: psycopg.Connection) -> dict[str, set[str]]:
    rows = session.execute(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
        " AND a.attnum > 0 AND NOT a.attisdropped AND c.relname !~ %s",
        (f"^({BOOKKEEPING})",),
    ).fetchall()
    found: dict[str, set[str]] = {}
    for table, column in rows:
        found.setdefault(table, set()).add(column)
    return found


@pytest.mark.req("F-DATA-10", "R-47")
def test_every_table_has_a_rule_and_every_rule_a_table(columns: dict[str, set[str]]) -> None:
    assert columns.keys() == {rule.name for rule in list_rules("postgres")}


def test_a_new_table_without_a_rule_is_found_out(database: Database) -> None:
    with psycopg.connect(database.superuser_url) as session:
        session.execute("CREATE TABLE assistant_notes (organisation_id text, created_by text)")
        found = read_columns(session)
        session.rollback()

    assert found.keys() - {rule.name for rule in list_rules("postgres")} == {"assistant_notes"}


@pytest.mark.parametrize("rule", list_rules("postgres"), ids=lambda rule: rule.name)
def test_a_rule_names_what_its_table_has(columns: dict[str, set[str]], rule: DataRule) -> None:
    assert ERASABLE.get(rule.erased, "organisation_id") in columns[rule.name] or rule.erased in (
        "holds_no_person",
        "expires",
    )
    assert rule.offboarded != "by_organisation" or "organisation_id" in columns[rule.name]


def test_a_table_that_names_a_person_says_what_erasure_does_to_it(columns: dict[str, set[str]]) -> None:
    named = {table for table, held in columns.items() if held & {"created_by", "user_id", "visible_to"}}
    silent = {rule.name for rule in list_rules("postgres") if rule.erased == "holds_no_person"}

    assert not named & silent


@pytest.mark.req("F-DATA-10")
def test_dependants_are_removed_before_what_they_depend_on(database: Database) -> None:
    order = [rule.name for rule in list_rules("postgres")]
    with psycopg.connect(database.superuser_url) as session:
        keys = session.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint"
            " WHERE contype = 'f' AND connamespace = 'public'::regnamespace"
        ).fetchall()

    assert keys
    assert [(child, parent) for child, parent in keys if order.index(child) > order.index(parent)] == []
