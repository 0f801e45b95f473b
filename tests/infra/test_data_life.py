"""Whatever a stage keeps has a rule for its life, and the truth is backed up and hard to delete."""

import re

import pytest
from equerry.domain.data_rules import list_rules

from tests.infra.stages import SynthesisedStage, as_list


@pytest.mark.req("F-DATA-10")
def test_every_table_of_the_stack_has_a_rule(stage: SynthesisedStage) -> None:
    tables = {
        match[1]
        for name in stage.of_type("AWS::DynamoDB::Table")
        if (match := re.fullmatch(r"Tables(\w+)Table[0-9A-F]{8}", name))
    }

    assert len(tables) == len(stage.of_type("AWS::DynamoDB::Table"))
    assert tables == {rule.name for rule in list_rules("dynamodb")}


def test_every_prefix_that_a_function_may_write_or_that_expires_has_a_rule(stage: SynthesisedStage) -> None:
    assert len(stage.of_type("AWS::S3::Bucket")) == 1
    written = {
        match[1]
        for handler in stage.functions()
        for statement in stage.statements_of(handler)
        if "s3:PutObject" in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
        if (match := re.search(r"(\w+/)\*", str(resource)))
    }

    assert written == {rule.name for rule in list_rules("s3")}


def test_retention_reaches_every_prefix_that_goes_with_somebody(stage: SynthesisedStage) -> None:
    removed = {
        match[1]
        for statement in stage.statements_of("retention.handler.handle")
        if "s3:DeleteObjectVersion" in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
        if (match := re.search(r"(\w+/)\*", str(resource)))
    }

    assert removed == {rule.name for rule in list_rules("s3") if rule.offboarded == "by_organisation"}


@pytest.mark.req("A-RETN-06")
def test_the_schedule_is_weekly_unless_a_stage_says_otherwise(production: SynthesisedStage) -> None:
    schedules = [rule.get("ScheduleExpression") for rule in production.of_type("AWS::Events::Rule").values()]

    assert "cron(0 15 ? * SUN *)" in schedules


@pytest.mark.req("A-RETN-07")
def test_retention_runs_one_at_a_time(stage: SynthesisedStage) -> None:
    assert stage.functions()["retention.handler.handle"]["ReservedConcurrentExecutions"] == 1


@pytest.mark.req("A-RETN-08")
def test_retention_may_call_the_minting_alias_and_no_other_function(production: SynthesisedStage) -> None:
    called = [
        statement["Resource"]
        for statement in production.statements_of("retention.handler.handle")
        if "lambda:InvokeFunction" in as_list(statement["Action"])
    ]

    assert called == [production.config.identity.minting]
    variables = production.functions()["retention.handler.handle"]["Environment"]["Variables"]
    assert variables["SERVICE_MINT_FUNCTION_ARN"].endswith(":mint-for-assistant-offboarding")
    assert variables["IDENTITY_SERVICE_URL"] == "https://identity.example.com"


@pytest.mark.req("A-RETN-02", "A-RETN-03", "A-RETN-05")
def test_the_windows_are_a_year_two_years_and_ninety_days(production: SynthesisedStage) -> None:
    variables = production.functions()["retention.handler.handle"]["Environment"]["Variables"]

    assert variables["ASSISTANT_CONVERSATION_RETENTION_DAYS"] == "365"
    assert variables["ASSISTANT_ACTION_RETENTION_DAYS"] == "730"
    assert variables["ORG_OFFBOARDING_PURGE_AFTER_DAYS"] == "90"


@pytest.mark.req("F-BKP-01")
def test_only_the_truth_is_backed_up(production: SynthesisedStage) -> None:
    (cluster,) = production.of_type("AWS::RDS::DBCluster").values()
    (bucket,) = production.of_type("AWS::S3::Bucket").values()
    tables = production.of_type("AWS::DynamoDB::Table").values()

    assert cluster["BackupRetentionPeriod"] >= 14
    assert cluster["DeletionProtection"]
    assert cluster["CopyTagsToSnapshot"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert {rule.backup for rule in list_rules("dynamodb")} == {"passing"}
    assert not [table for table in tables if table.get("PointInTimeRecoverySpecification")]
