"""Each function may call what its adapters call, on what it owns, and nothing else."""

import pytest
from equerry.adapters.aws.switches import LEVELS

from tests.infra.stages import SynthesisedStage, as_list

EVERY_FUNCTION = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
}
IN_THE_VPC = {
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
}
CONSUME = {
    "sqs:ReceiveMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueUrl",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
}
LEASES = {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}
SECRET = "secretsmanager:GetSecretValue"
PUBLISH = "execute-api:ManageConnections"
COMPLETIONS = {"structured_completion.handler.handle", "structured_completion.streaming.handle"}
READERS_OF_SWITCHES = {"turn.http.handle", "worker.handler.handle", *COMPLETIONS}
ALLOWED = {
    "turn.http.handle": {
        *LEASES,
        "dynamodb:BatchGetItem",
        "ssm:GetParameter",
        "ssm:GetParameters",
        "dynamodb:Query",
        "sqs:SendMessage",
        "s3:PutObject",
        "s3:GetObject",
        "s3:DeleteObject",
        "s3:ListBucket",
        SECRET,
        PUBLISH,
    },
    "turn.websocket.handle": {
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:DeleteItem",
        "dynamodb:Query",
        SECRET,
        PUBLISH,
    },
    "worker.handler.handle": {
        *LEASES,
        *CONSUME,
        "dynamodb:Query",
        "s3:PutObject",
        "ssm:GetParameter",
        "ssm:GetParameters",
        SECRET,
        PUBLISH,
    },
    "worker.reaper.handle": {*LEASES, "dynamodb:Scan", "dynamodb:Query", "s3:PutObject", SECRET, PUBLISH},
    "indexer.handler.handle": {*CONSUME, "s3:GetObject", "s3:ListBucket", SECRET},
    "retention.handler.handle": {
        "dynamodb:Scan",
        "dynamodb:Query",
        "dynamodb:DeleteItem",
        "lambda:InvokeFunction",
        "s3:DeleteObject",
        "s3:DeleteObjectVersion",
        "s3:ListBucketVersions",
        "s3:PutObject",
        SECRET,
    },
    **{handler: {"ssm:GetParameter", "ssm:GetParameters"} for handler in COMPLETIONS},
    "migrator.custom_resource.handle": {SECRET},
}


@pytest.mark.parametrize("handler", sorted(ALLOWED))
def test_a_function_may_call_only_what_is_named_here(production: SynthesisedStage, handler: str) -> None:
    called = {action for action in production.actions_of(handler) if not action.startswith("kms:")}

    in_vpc = IN_THE_VPC if "VpcConfig" in production.functions()[handler] else set()
    assert called == ALLOWED[handler] | EVERY_FUNCTION | in_vpc


def test_every_function_is_named_here(production: SynthesisedStage) -> None:
    assert production.functions().keys() == ALLOWED.keys()


def test_no_statement_allows_a_whole_service(stage: SynthesisedStage) -> None:
    for handler in stage.functions():
        assert not [action for action in stage.actions_of(handler) if "*" in action]


def test_only_tracing_and_network_interfaces_take_any_resource(stage: SynthesisedStage) -> None:
    for handler in stage.functions():
        for statement in stage.statements_of(handler):
            if "*" in as_list(statement["Resource"]):
                assert set(as_list(statement["Action"])) <= EVERY_FUNCTION | IN_THE_VPC, handler


def test_only_retention_and_the_migrator_read_the_platform_roles_secret(stage: SynthesisedStage) -> None:
    readers = {
        handler
        for handler in stage.functions()
        for statement in stage.statements_of(handler)
        if SECRET in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
        if "DatabasePlatform" in str(resource)
    }

    assert readers == {"retention.handler.handle", "migrator.custom_resource.handle"}


def test_only_the_migrator_reads_the_owners_secret(stage: SynthesisedStage) -> None:
    readers = {
        handler
        for handler in stage.functions()
        for statement in stage.statements_of(handler)
        if SECRET in as_list(statement["Action"]) and "Owner" in str(statement["Resource"])
    }

    assert readers == {"migrator.custom_resource.handle"}


def test_functions_use_the_key_only_through_the_service_that_holds_the_data(stage: SynthesisedStage) -> None:
    unbound = {
        (handler, action)
        for handler in stage.functions()
        for statement in stage.statements_of(handler)
        if "kms:ViaService" not in str(statement.get("Condition", ""))
        for action in as_list(statement["Action"])
        if action.startswith("kms:")
    }

    # SQS decrypts for its event sources: CDK's own grant for a queue's consumer has no condition.
    assert unbound <= {("worker.handler.handle", "kms:Decrypt"), ("indexer.handler.handle", "kms:Decrypt")}


def test_publishing_is_bound_to_posts_on_the_stage(stage: SynthesisedStage) -> None:
    for handler in stage.functions():
        for statement in stage.statements_of(handler):
            if PUBLISH in as_list(statement["Action"]):
                assert "/live/POST/@connections/*" in str(statement["Resource"])


@pytest.mark.req("A-SSM-09")
def test_those_that_read_switches_read_them_alone_and_in_a_batch_and_nothing_else(
    stage: SynthesisedStage,
) -> None:
    readers = set()
    for handler in stage.functions():
        for statement in stage.statements_of(handler):
            if "ssm:GetParameter" in as_list(statement["Action"]):
                readers.add(handler)
                assert "ssm:GetParameters" in as_list(statement["Action"])
                for one in map(str, as_list(statement["Resource"])):
                    own = handler in COMPLETIONS and "StructuredCompletionEnabled" in one
                    assert own or "AssistantSwitch" in one

    assert readers == READERS_OF_SWITCHES


@pytest.mark.req("A-SSM-09", "A-SSM-08")
@pytest.mark.parametrize("handler", sorted(READERS_OF_SWITCHES))
def test_a_function_may_read_each_parameter_that_its_variables_lead_to(
    stage: SynthesisedStage, handler: str
) -> None:
    variables = stage.functions()[handler]["Environment"]["Variables"]
    declared = stage.of_type("AWS::SSM::Parameter")
    led_to = {
        name
        for name, parameter in declared.items()
        if variables.get("ASSISTANT_ENABLED_SSM_PARAMETER") == {"Ref": name}
        or variables.get("STRUCTURED_COMPLETIONS_ENABLED_SSM_PARAMETER") == {"Ref": name}
        or variables.get("TURN_LIMITS_SSM_PARAMETER") == {"Ref": name}
        or parameter["Name"].startswith(variables["ASSISTANT_OFF_SSM_PREFIX"] + "/")
    }
    allowed = {
        name
        for statement in stage.statements_of(handler)
        if "ssm:GetParameters" in as_list(statement["Action"])
        for name in declared
        if f"'{name}'" in str(statement["Resource"])
    }

    beside_levels = 1 if handler in COMPLETIONS else 2  # a switch of their own, and no limits
    assert len(led_to) == beside_levels + len(LEVELS)
    assert allowed == led_to
