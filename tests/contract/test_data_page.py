"""The structures that docs/data.md declares, against the real catalogue."""

import psycopg
import pytest
from equerry.adapters.postgres.roles import RUNTIME

from tests.contract.databases import Database
from tests.unit.architecture.data_page import list_structures, read_rows, read_tables
from tests.unit.architecture.documents import read_names

pytestmark = pytest.mark.postgres


@pytest.mark.req("F-DATA-01", "F-DATA-08")
@pytest.mark.parametrize("table", read_tables())
def test_a_declared_table_has_these_columns_and_no_other(database: Database, table: str) -> None:
    with psycopg.connect(database.superuser_url) as session:
        rows = session.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped",
            (table,),
        ).fetchall()

    assert {name for (name,) in rows} == set(read_tables()[table])


@pytest.mark.req("F-DATA-01", "F-DATA-08")
def test_every_declared_way_in_is_an_index_of_its_table(database: Database) -> None:
    with psycopg.connect(database.superuser_url) as session:
        indexes = session.execute(
            "SELECT tablename, indexname FROM pg_indexes WHERE schemaname = 'public'"
        ).fetchall()

    for structure in list_structures():
        rows = read_rows(structure)
        tables = {name.strip("`") for name in rows if name.startswith("`assistant_")}
        ways = set(read_names(rows["Access"])) if tables else set()
        assert ways <= {index for table, index in indexes if table in tables}, structure
        assert {table for table, index in indexes if index in ways} == tables, structure


@pytest.mark.parametrize("statement", ["UPDATE {} SET kind = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_an_interaction_cannot_be_changed_or_taken_back_by_the_runtime(
    database: Database, statement: str
) -> None:
    with psycopg.connect(database.superuser_url) as session:
        session.execute(f"SET ROLE {RUNTIME}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(statement.format("assistant_interactions"))
