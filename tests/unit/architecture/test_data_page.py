"""The structures that docs/data.md declares are eleven, whole, and what the code has."""

from dataclasses import fields

import pytest
from equerry.domain.data_rules import list_rules
from equerry.domain.profiles import Profile

from tests.unit.architecture.data_page import list_structures, read_rows, read_tables
from tests.unit.architecture.documents import read_names
from tests.unit.domain.test_manifests import describe


@pytest.mark.req("F-DATA-01", "F-DATA-08")
def test_each_of_the_eleven_says_its_fields_owner_invariants_and_how_long_it_is_kept() -> None:
    assert len(list_structures()) == 11
    for structure in list_structures():
        rows = read_rows(structure)
        assert {"Owner", "Invariants", "Kept"} <= rows.keys(), structure
        assert {"Fields", "Body"} & rows.keys() or any(name.startswith("`") for name in rows), structure
        assert {"Access", "Body"} & rows.keys(), structure


@pytest.mark.req("F-DATA-10")
def test_what_is_said_to_be_kept_is_what_the_rules_say() -> None:
    rules = {rule.name: rule.kept for rule in list_rules("postgres")}

    for structure in list_structures():
        rows = read_rows(structure)
        tables = [name.strip("`") for name in rows if name.startswith("`assistant_")]
        if tables:
            assert set(read_names(rows["Kept"])) == {rules[table] for table in tables}, structure


@pytest.mark.req("F-DATA-08")
def test_a_profile_and_a_prompt_have_the_fields_that_are_declared() -> None:
    assert read_names(read_rows("Profile version")["Fields"]) == tuple(f.name for f in fields(Profile))
    assert set(read_names(read_rows("Prompt version")["Fields"])) == describe().keys()


def test_no_table_is_declared_twice() -> None:
    named = [name for structure in list_structures() for name in read_rows(structure) if name[0] == "`"]

    assert len(named) == len(read_tables())
