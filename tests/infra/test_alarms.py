"""Somebody hears of the first failure, wherever it happens."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from infra.loading import load
from infra.stack import EquerryStack
from tests.infra.stages import SynthesisedStage, synthesise

ACCOUNT = "111122223333"
GIVEN_TOPIC = f"arn:aws:sns:eu-central-1:{ACCOUNT}:operations"


def alarms_of(stage: SynthesisedStage) -> list[Mapping[str, Any]]:
    """Return every alarm's properties."""
    return list(stage.of_type("AWS::CloudWatch::Alarm").values())


def alarms_on(stage: SynthesisedStage, namespace: str, metric: str) -> list[Mapping[str, Any]]:
    """Return the alarms on one metric."""
    return [a for a in alarms_of(stage) if (a["Namespace"], a["MetricName"]) == (namespace, metric)]


def dimensions_of(alarm: Mapping[str, Any]) -> dict[str, Any]:
    """Return an alarm's dimensions by name."""
    return {dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]}


def build_stack(**context: str) -> Stack:
    """Build the production stage without synthesising it."""
    app = App(context={"aws:cdk:bundling-stacks": [], "stage": "production", **context})
    config = load(app.node.try_get_context)
    place = Environment(account=config.account, region=config.region)
    return EquerryStack(app, "Equerry-production", config=config, env=place)


@pytest.mark.req("A-ALARM-01")
@pytest.mark.parametrize("metric", ["Errors", "Throttles"])
def test_each_function_rings_at_its_first_event_in_five_minutes(stage: SynthesisedStage, metric: str) -> None:
    functions = stage.of_type("AWS::Lambda::Function")
    found = alarms_on(stage, "AWS/Lambda", metric)

    watched = [dimensions_of(alarm)["FunctionName"]["Ref"] for alarm in found]
    assert sorted(watched) == sorted(functions)
    assert {(a["Period"], a["EvaluationPeriods"], a["Threshold"], a["Statistic"]) for a in found} == {
        (300, 1, 1, "Sum")
    }


@pytest.mark.req("A-ALARM-01")
def test_silence_is_no_alarm(stage: SynthesisedStage) -> None:
    found = alarms_of(stage)

    assert {alarm["TreatMissingData"] for alarm in found} == {"notBreaching"}
    assert {alarm["ComparisonOperator"] for alarm in found} == {"GreaterThanOrEqualToThreshold"}


@pytest.mark.req("A-ALARM-06")
def test_a_new_function_without_an_alarm_fails_the_synth_and_is_named() -> None:
    stack = build_stack()
    lambda_.Function(
        stack,
        "Newcomer",
        code=lambda_.Code.from_inline("#"),
        handler="index.handle",
        runtime=lambda_.Runtime.PYTHON_3_13,
    )

    with pytest.raises(RuntimeError, match="Equerry-production/Newcomer has no alarm"):
        Template.from_stack(stack)


@pytest.mark.req("A-ALARM-02")
def test_an_answer_of_5xx_rings_though_its_invocation_succeeded(stage: SynthesisedStage) -> None:
    (alarm,) = alarms_on(stage, "AWS/ApiGateway", "5xx")

    assert dimensions_of(alarm) == {
        "ApiId": {"Ref": api_of(stage, "HTTP")},
        "Stage": api_stage(stage, "HTTP"),
    }
    assert (alarm["Threshold"], alarm["Period"]) == (1, 300)


@pytest.mark.parametrize("metric", ["IntegrationError", "ExecutionError"])
def test_the_socket_api_rings_at_its_errors(stage: SynthesisedStage, metric: str) -> None:
    (alarm,) = alarms_on(stage, "AWS/ApiGateway", metric)

    where = {"ApiId": {"Ref": api_of(stage, "WEBSOCKET")}, "Stage": api_stage(stage, "WEBSOCKET")}
    assert dimensions_of(alarm) == where
    assert alarm["Threshold"] == 1


def test_every_dead_letter_queue_rings_at_its_first_message(stage: SynthesisedStage) -> None:
    queues = stage.of_type("AWS::SQS::Queue")
    dead = {name for name, queue in queues.items() if "RedrivePolicy" not in queue}
    found = alarms_on(stage, "AWS/SQS", "ApproximateNumberOfMessagesVisible")

    assert {dimensions_of(alarm)["QueueName"]["Fn::GetAtt"][0] for alarm in found} == dead
    assert {alarm["Threshold"] for alarm in found} == {1}


def test_a_turn_that_is_older_than_a_worker_may_take_rings(stage: SynthesisedStage) -> None:
    (alarm,) = alarms_on(stage, "AWS/SQS", "ApproximateAgeOfOldestMessage")
    queue = stage.of_type("AWS::SQS::Queue")[dimensions_of(alarm)["QueueName"]["Fn::GetAtt"][0]]

    assert queue["FifoQueue"]
    assert alarm["Threshold"] > stage.functions()["worker.handler.handle"]["Timeout"]


def test_a_switch_that_says_nothing_rings(stage: SynthesisedStage) -> None:
    (alarm,) = alarms_on(stage, "Equerry", "SwitchUnparseable")

    assert dimensions_of(alarm) == {"stage": stage.config.stage}
    assert (alarm["Threshold"], alarm["Period"], alarm["Statistic"]) == (1, 300, "Sum")


@pytest.mark.req("F-ROUTE-06")
@pytest.mark.parametrize(("name", "period"), [("ModelGone", 300), ("ModelRetiring", 86_400)])
def test_a_model_that_is_gone_or_will_be_rings(stage: SynthesisedStage, name: str, period: int) -> None:
    (alarm,) = alarms_on(stage, "Equerry", name)

    assert dimensions_of(alarm) == {"stage": stage.config.stage}
    assert (alarm["Threshold"], alarm["Period"], alarm["Statistic"]) == (1, period, "Sum")


@pytest.mark.req("F-ABUSE-03")
def test_a_person_who_has_a_lot_retrieved_in_a_day_rings(stage: SynthesisedStage) -> None:
    (alarm,) = alarms_on(stage, "Equerry", "RetrievalOutliers")

    assert dimensions_of(alarm) == {"stage": stage.config.stage}
    assert (alarm["Threshold"], alarm["Period"], alarm["Statistic"]) == (1, 300, "Sum")


@pytest.mark.req("A-ALARM-03")
def test_every_alarm_tells_one_topic_when_it_starts_and_when_it_is_over(stage: SynthesisedStage) -> None:
    (topic,) = stage.of_type("AWS::SNS::Topic")

    for alarm in alarms_of(stage):
        assert alarm["AlarmActions"] == [{"Ref": topic}]
        assert alarm["OKActions"] == [{"Ref": topic}]


def test_alarms_of_this_account_may_publish_to_the_topic_and_use_its_key(stage: SynthesisedStage) -> None:
    statements = [*statements_of(stage, "AWS::SNS::TopicPolicy"), *statements_of(stage, "AWS::KMS::Key")]

    allowed = [s for s in statements if s["Principal"] == {"Service": "cloudwatch.amazonaws.com"}]
    assert [s["Action"] for s in allowed] == ["sns:Publish", ["kms:Decrypt", "kms:GenerateDataKey*"]]
    assert all("aws:SourceAccount" in s["Condition"]["StringEquals"] for s in allowed)
    (topic,) = stage.of_type("AWS::SNS::Topic").values()
    assert "KmsMasterKeyId" in topic


@pytest.mark.req("A-ALARM-04")
def test_the_topic_is_the_stack_s_own_and_an_output(stage: SynthesisedStage) -> None:
    (topic,) = stage.of_type("AWS::SNS::Topic")

    assert stage.template["Outputs"]["AlarmTopicArn"]["Value"] == {"Ref": topic}


@pytest.mark.req("A-ALARM-04")
def test_a_given_topic_takes_its_place(tmp_path: Path) -> None:
    overrides = tmp_path / "overrides.toml"
    overrides.write_text(f'account = "{ACCOUNT}"\n[alarms]\nalarm_sns_topic_arn = "{GIVEN_TOPIC}"\n')

    given = synthesise("production", overrides=str(overrides))

    assert not given.of_type("AWS::SNS::Topic")
    told = [alarm[when] for alarm in alarms_of(given) for when in ("AlarmActions", "OKActions")]
    assert told
    assert all(arns == [GIVEN_TOPIC] for arns in told)
    assert given.template["Outputs"]["AlarmTopicArn"]["Value"] == GIVEN_TOPIC


def statements_of(stage: SynthesisedStage, kind: str) -> Iterator[Mapping[str, Any]]:
    """Yield every statement of the resource policies of one type."""
    for properties in stage.of_type(kind).values():
        policy = properties.get("PolicyDocument") or properties["KeyPolicy"]
        yield from policy["Statement"]


def api_of(stage: SynthesisedStage, protocol: str) -> str:
    """Return the logical id of an API."""
    apis = stage.of_type("AWS::ApiGatewayV2::Api").items()
    (name,) = (name for name, api in apis if api["ProtocolType"] == protocol)
    return name


def api_stage(stage: SynthesisedStage, protocol: str) -> Any:
    """Return the name of an API's stage."""
    stages = stage.of_type("AWS::ApiGatewayV2::Stage").values()
    (name,) = (s["StageName"] for s in stages if s["ApiId"] == {"Ref": api_of(stage, protocol)})
    return name
