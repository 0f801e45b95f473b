"""What an operator is told: the levers, what is on every level of them, the limits and the bill."""

from typing import get_args

import pytest
from equerry.domain.switches import SWITCH_KEPT_S, NamedLevel
from equerry.ports.metrics import MetricName
from equerry.runtime.settings import LIMITS, limit_variable

from local.codegen.limits import write_limits
from tests.unit.architecture.documents import DOCS, read_names, read_section, read_table

LEVELS = {"platform", *get_args(NamedLevel)}


@pytest.mark.req("F-INC-03")
def test_every_level_says_what_it_stops_and_how_soon() -> None:
    rows = {read_names(row["Level"])[0]: row for row in read_table("incidents.md", "The levers")}

    assert rows.keys() == LEVELS
    assert {row["In effect"] for row in rows.values()} == {f"within {SWITCH_KEPT_S} s"}
    assert all(row["Stops"] and row["For what runs already"] for row in rows.values())


@pytest.mark.req("F-INC-04")
def test_every_kind_of_incident_has_a_severity_a_first_response_and_a_lever() -> None:
    rows = read_table("incidents.md", "Kinds")

    assert {row["Severity"] for row in rows} == {"1", "2", "3"}
    assert all(row["First response"] and row["Looks like"] for row in rows)
    pulled = [set(read_names(row["Lever"])) & LEVELS for row in rows]
    assert all(
        levers or "the one that was meant" in row["Lever"] for levers, row in zip(pulled, rows, strict=True)
    )
    assert set().union(*pulled) == LEVELS


def test_an_incident_s_signs_are_ones_that_exist() -> None:
    signs = {name for row in read_table("incidents.md", "Kinds") for name in read_names(row["Looks like"])}

    alarms = {name for row in read_table("operate.md", "Alarms") for name in read_names(row["Alarm"])}
    events = {name for row in read_table("operate.md", "Logs") for name in read_names(row["Event"])}
    assert signs - alarms - events - set(get_args(MetricName)) <= {"model_unavailable"}


@pytest.mark.req("A-BUDG-06")
def test_the_page_of_limits_is_the_table_that_functions_read() -> None:
    assert (DOCS / "limits.md").read_text(encoding="utf-8") == write_limits()
    rows = read_table("limits.md", "Limits")
    assert [read_names(row["Limit"])[0] for row in rows] == list(LIMITS)
    assert [read_names(row["Variable"])[0] for row in rows] == [limit_variable(one).upper() for one in LIMITS]
    assert all(row["What it bounds"] for row in rows)


@pytest.mark.req("A-COST-06")
def test_the_runbook_says_that_a_subscription_waits_to_be_confirmed_and_how_to_look() -> None:
    told = read_section("operate.md", "What Bedrock costs")

    assert "subscription is pending" in " ".join(told.split())
    assert "aws sns list-subscriptions-by-topic --region us-east-1" in told
    assert "PendingConfirmation" in told


@pytest.mark.req("A-SPEC-14")
def test_the_release_document_says_how_an_alias_goes_back_and_what_does_not() -> None:
    told = read_section("upgrade.md", "Taking a release back")

    assert "aws lambda update-alias --function-name HTTP --name live" in told
    assert "Migrations only go forward" in told
    assert "equerry release verify" in told
    assert "equerry release verify" in read_section("upgrade.md", "Releases")
