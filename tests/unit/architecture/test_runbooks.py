"""The order of steps in which an operator must not be mistaken."""

import re

import pytest

from tests.unit.architecture.documents import read_section

STEP = re.compile(r"^\d+\. (.*?)(?=^\d+\. |^\S|\Z)", re.MULTILINE | re.DOTALL)


def list_steps(page: str, heading: str) -> list[str]:
    return [" ".join(step.split()) for step in STEP.findall(read_section(page, heading))]


@pytest.mark.req("A-BACK-08")
def test_old_conversations_are_told_of_their_projects_after_the_migration_and_before_anybody_is_served() -> (
    None
):
    stopped, deployed, told, served = list_steps("projects.md", "What is older")

    assert "switch off platform" in stopped
    assert "The database is migrated before the functions are replaced" in deployed
    assert "equerry backfill projects" in told
    assert "switch on platform" in served


def test_what_was_erased_since_is_erased_again_before_a_restored_database_is_served() -> None:
    steps = list_steps("backup.md", "Restoring")

    off, again, on = (
        next(place for place, step in enumerate(steps) if told in step)
        for told in ("switch off platform", "Repeat erasures and purges", "Turn the assistant on")
    )
    assert off < again < on
