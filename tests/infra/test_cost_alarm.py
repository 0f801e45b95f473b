"""A month at Amazon Bedrock that costs too much is news."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template

from infra.cost_alarm import add_cost_alarm
from infra.loading import load

OWN_TOPIC = "arn:aws:sns:us-east-1:111122223333:costs"


def template(tmp_path: Path, alarms: str = "", *, stage: str = "production") -> Mapping[str, Any]:
    """Return the cost stack's template under some `[alarms]`; empty if there is none."""
    overrides = tmp_path / "overrides.toml"
    overrides.write_text(f"[alarms]\n{alarms}\n")
    app = App(context={"stage": stage, "overrides": str(overrides)})
    stack = add_cost_alarm(app, config=load(app.node.try_get_context))
    if stack is None:
        return {}
    assert stack.region == "us-east-1"
    found: Mapping[str, Any] = Template.from_stack(stack).to_json()["Resources"]
    return found


def of_type(resources: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the properties of every resource of one type."""
    return [r.get("Properties", {}) for r in resources.values() if r["Type"] == kind]


@pytest.mark.req("A-COST-01")
def test_the_whole_account_s_month_at_bedrock_is_watched_where_it_is_billed(tmp_path: Path) -> None:
    (alarm,) = of_type(template(tmp_path), "AWS::CloudWatch::Alarm")

    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Billing", "EstimatedCharges")
    dimensions = {dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]}
    assert dimensions == {"ServiceName": "AmazonBedrock", "Currency": "USD"}
    assert alarm["Statistic"] == "Maximum"


@pytest.mark.req("A-COST-02")
@pytest.mark.parametrize(("setting", "threshold"), [("", 500), ("bedrock_monthly_cost_threshold = 75", 75)])
def test_the_threshold_is_500_dollars_unless_the_stage_says_another(
    tmp_path: Path, setting: str, threshold: int
) -> None:
    (alarm,) = of_type(template(tmp_path, setting), "AWS::CloudWatch::Alarm")

    assert alarm["Threshold"] == threshold


@pytest.mark.req("A-COST-02")
def test_a_threshold_of_nothing_makes_no_stack(tmp_path: Path) -> None:
    assert template(tmp_path, "bedrock_monthly_cost_threshold = 0") == {}


def test_the_local_stage_has_no_bill(tmp_path: Path) -> None:
    assert template(tmp_path, "bedrock_monthly_cost_threshold = 500", stage="local") == {}


@pytest.mark.req("A-COST-05")
def test_addresses_get_a_topic_of_their_own_and_a_subscription_each(tmp_path: Path) -> None:
    resources = template(tmp_path, 'cost_alarm_emails = ["a@example.com", "b@example.com"]')

    (topic,) = of_type(resources, "AWS::SNS::Topic")
    assert topic["TopicName"] == "equerry-production-cost-alerts"
    subscribed = of_type(resources, "AWS::SNS::Subscription")
    assert sorted((s["Protocol"], s["Endpoint"]) for s in subscribed) == [
        ("email", "a@example.com"),
        ("email", "b@example.com"),
    ]
    (name,) = (name for name, r in resources.items() if r["Type"] == "AWS::SNS::Topic")
    (alarm,) = of_type(resources, "AWS::CloudWatch::Alarm")
    assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": name}]


@pytest.mark.req("A-COST-03")
def test_addresses_are_ignored_where_a_topic_is_given(tmp_path: Path) -> None:
    resources = template(
        tmp_path, f'cost_alarm_emails = ["a@example.com"]\ncost_alarm_sns_topic_arn = "{OWN_TOPIC}"'
    )

    assert not of_type(resources, "AWS::SNS::Topic")
    assert not of_type(resources, "AWS::SNS::Subscription")
    (alarm,) = of_type(resources, "AWS::CloudWatch::Alarm")
    assert alarm["AlarmActions"] == alarm["OKActions"] == [OWN_TOPIC]


def test_nobody_to_tell_leaves_an_alarm_that_only_shows(tmp_path: Path) -> None:
    (alarm,) = of_type(template(tmp_path), "AWS::CloudWatch::Alarm")

    assert "AlarmActions" not in alarm
