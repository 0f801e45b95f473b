"""Billing enforcement in the template: all of it, or nothing."""

from pathlib import Path
from typing import Any

import pytest

from infra.loading import PROJECT, parse
from infra.reading import ConfigurationRefused
from tests.infra.stages import SynthesisedStage, as_list, synthesise

HTTP = "turn.http.handle"
MINIMAL = {
    "stage": "trial",
    "region": "eu-central-1",
    "auth": {"jwks_url": "https://login.example.com/keys", "issuer": "https://login.example.com"},
    "identity": {
        "service_url": "https://identity.example.com",
        "minting": "arn:aws:lambda:eu-central-1:123456789012:function:mint:assistant",
    },
}


@pytest.fixture(scope="module")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> SynthesisedStage:
    overrides: Path = tmp_path_factory.mktemp("billing") / "overrides.toml"
    overrides.write_text('[billing]\nenforce = true\nentitlements_table = "product-billing"\n')
    return synthesise("production", overrides=str(overrides))


def about_billing(stage: SynthesisedStage) -> list[Any]:
    return [
        statement
        for handler in stage.functions()
        for statement in stage.statements_of(handler)
        if "product-billing" in str(statement["Resource"]) or "LeadingKeys" in str(statement)
    ]


@pytest.mark.req("A-BILL-05", "A-BILL-07")
def test_with_enforcement_the_entry_point_may_get_two_kinds_of_items_of_that_table(
    enforced: SynthesisedStage,
) -> None:
    variables = enforced.functions()[HTTP]["Environment"]["Variables"]
    (statement,) = about_billing(enforced)

    assert variables["BILLING_ENTITLEMENTS_TABLE"] == "product-billing"
    assert as_list(statement["Action"]) == ["dynamodb:GetItem"]
    assert statement["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ORG#*", "LINK#*"]}
    }
    assert "table/product-billing" in str(statement["Resource"])


@pytest.mark.req("A-BILL-06")
def test_without_it_no_table_is_named_and_nothing_is_granted(production: SynthesisedStage) -> None:
    variables = production.functions()[HTTP]["Environment"]["Variables"]

    assert not variables.get("BILLING_ENTITLEMENTS_TABLE")
    assert about_billing(production) == []


def test_enforcement_without_a_table_is_refused() -> None:
    with pytest.raises(ConfigurationRefused, match=r"billing\.entitlements_table: is missing"):
        parse(MINIMAL | {"billing": {"enforce": True}}, source="a test")


def test_a_stage_says_whether_an_organisation_nobody_listed_has_the_assistant() -> None:
    assert parse(MINIMAL, source="a test").auth.organisations == "all"
    listed = MINIMAL | {"auth": {**MINIMAL["auth"], "organisations": "listed"}}  # type: ignore[dict-item]
    assert parse(listed, source="a test").auth.organisations == "listed"


@pytest.mark.req("A-BILL-10")
def test_who_reads_how_to_deploy_is_told_what_must_be_there_before_enforcement() -> None:
    notes = (PROJECT / "docs/operate.md").read_text(encoding="utf-8").split("## Billing")[1].split("\n## ")[0]
    settings = (PROJECT / "docs/deploy.md").read_text(encoding="utf-8")

    assert "must exist before `enforce` is turned on" in " ".join(notes.split())
    (row,) = [line for line in settings.splitlines() if "`billing.enforce`" in line]
    assert "must exist in that environment first" in row
