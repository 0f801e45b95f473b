"""What every deployment promises, whatever the stage."""

import json
from collections import Counter
from pathlib import Path

import pytest
from equerry.runtime.settings import LIMITS, limit_variable

from tests.infra.stages import SynthesisedStage, as_list

FUNCTIONS = Path(__file__).parents[2] / "functions"
ONLY_WITH_AURORA = {
    "AWS::EC2::VPC",
    "AWS::EC2::Subnet",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::Route",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::EC2::EIP",
    "AWS::EC2::NatGateway",
    "AWS::EC2::VPCEndpoint",
    "AWS::EC2::FlowLog",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::RDS::DBCluster",
    "AWS::RDS::DBClusterParameterGroup",
    "AWS::RDS::DBInstance",
    "AWS::RDS::DBSubnetGroup",
    "AWS::SecretsManager::SecretTargetAttachment",
}
FLOW_LOGS = {"AWS::IAM::Role": 1, "AWS::IAM::Policy": 1, "AWS::Logs::LogGroup": 1}


@pytest.mark.req("A-LOG-01")
def test_every_log_group_forgets_after_thirty_days_in_production(production: SynthesisedStage) -> None:
    groups = production.of_type("AWS::Logs::LogGroup").values()

    assert {group["RetentionInDays"] for group in groups} == {30}


@pytest.mark.req("A-LOG-01")
def test_every_log_group_forgets_after_fourteen_days_elsewhere(local: SynthesisedStage) -> None:
    groups = local.of_type("AWS::Logs::LogGroup").values()

    assert {group["RetentionInDays"] for group in groups} == {14}


def test_every_function_logs_json_to_an_encrypted_group_of_its_own(stage: SynthesisedStage) -> None:
    groups = stage.of_type("AWS::Logs::LogGroup")
    logging = [function["LoggingConfig"] for function in stage.functions().values()]

    named = [config["LogGroup"]["Ref"] for config in logging]
    assert len(set(named)) == len(named)
    assert all("KmsKeyId" in groups[name] for name in named)
    assert {config["LogFormat"] for config in logging} == {"JSON"}


def test_every_function_is_traced(stage: SynthesisedStage) -> None:
    modes = {handler: function["TracingConfig"]["Mode"] for handler, function in stage.functions().items()}

    assert set(modes.values()) == {"Active"}


def test_every_function_runs_on_the_configured_runtime(stage: SynthesisedStage) -> None:
    declared = {(f["Runtime"], *f["Architectures"]) for f in stage.functions().values()}

    assert declared == {(f"python{stage.config.runtime.python}", stage.config.runtime.architecture)}


def test_every_queue_is_encrypted_and_has_a_dead_letter_queue(stage: SynthesisedStage) -> None:
    queues = stage.of_type("AWS::SQS::Queue")
    dead = {
        queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        for queue in queues.values()
        if "RedrivePolicy" in queue
    }

    assert {name for name, queue in queues.items() if "RedrivePolicy" not in queue} == dead
    assert all("KmsMasterKeyId" in queue for queue in queues.values())


def test_a_turn_stays_hidden_for_longer_than_its_worker_may_run(stage: SynthesisedStage) -> None:
    turns = [queue for queue in stage.of_type("AWS::SQS::Queue").values() if queue.get("FifoQueue")]
    hidden_s = max(queue.get("VisibilityTimeout", 0) for queue in turns)

    assert hidden_s > stage.functions()["worker.handler.handle"]["Timeout"]
    assert not any(queue.get("ContentBasedDeduplication") for queue in turns)


def test_every_consumer_reports_failures_message_by_message(stage: SynthesisedStage) -> None:
    sources = stage.of_type("AWS::Lambda::EventSourceMapping").values()

    assert all(source["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for source in sources)
    assert all("MaximumConcurrency" in source["ScalingConfig"] for source in sources)


@pytest.mark.req("A-SVC-02")
def test_every_http_route_is_below_the_prefix(stage: SynthesisedStage) -> None:
    http = {
        name for name, api in stage.of_type("AWS::ApiGatewayV2::Api").items() if api["ProtocolType"] == "HTTP"
    }
    routes = [
        route["RouteKey"]
        for route in stage.of_type("AWS::ApiGatewayV2::Route").values()
        if route["ApiId"]["Ref"] in http
    ]

    assert routes == ["ANY /api/assistant/{proxy+}"]


def test_access_logs_hold_no_query_string(stage: SynthesisedStage) -> None:
    stages = stage.of_type("AWS::ApiGatewayV2::Stage").values()
    logged = [json.loads(api["AccessLogSettings"]["Format"]) for api in stages]

    assert len(logged) == 2
    assert not any("query" in entry.lower() for fields in logged for entry in fields.values())


def test_both_apis_are_throttled(stage: SynthesisedStage) -> None:
    stages = stage.of_type("AWS::ApiGatewayV2::Stage").values()

    assert all(api["DefaultRouteSettings"]["ThrottlingRateLimit"] > 0 for api in stages)


def test_structured_completion_has_no_address_and_no_database(stage: SynthesisedStage) -> None:
    function = stage.functions()["structured_completion.handler.handle"]

    assert not stage.of_type("AWS::Lambda::Url")
    assert "VpcConfig" not in function
    assert not any("SECRET_ARN" in name or "TABLE" in name for name in function["Environment"]["Variables"])


def test_what_holds_state_is_kept_when_production_is_deleted(production: SynthesisedStage) -> None:
    kept = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::RDS::DBCluster")
    policies = {
        name: resource["DeletionPolicy"]
        for name, resource in production.resources.items()
        if resource["Type"] in kept
    }

    assert set(policies.values()) <= {"Retain", "Snapshot"}
    (cluster,) = production.of_type("AWS::RDS::DBCluster").values()
    assert cluster["DeletionProtection"]
    assert cluster["StorageEncrypted"]


def test_the_database_accepts_tls_only(production: SynthesisedStage) -> None:
    (group,) = production.of_type("AWS::RDS::DBClusterParameterGroup").values()

    assert group["Parameters"]["rds.force_ssl"] == "1"


def test_uploads_are_private_versioned_and_encrypted(stage: SynthesisedStage) -> None:
    (bucket,) = stage.of_type("AWS::S3::Bucket").values()

    assert all(bucket["PublicAccessBlockConfiguration"].values())
    assert bucket["VersioningConfiguration"]["Status"] == "Enabled"
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"


def test_a_removed_document_goes_ahead_of_content(stage: SynthesisedStage) -> None:
    (bucket,) = stage.of_type("AWS::S3::Bucket").values()
    heard = {
        event["Event"]: event["Queue"]["Fn::GetAtt"][0]
        for event in bucket["NotificationConfiguration"]["QueueConfigurations"]
    }

    assert heard.keys() == {"s3:ObjectCreated:*", "s3:ObjectRemoved:*"}
    assert len(set(heard.values())) == 2


def test_each_functions_folder_is_deployed_and_nothing_else_is(stage: SynthesisedStage) -> None:
    folders = {path.parent.name for path in FUNCTIONS.glob("*/__init__.py")}

    assert {handler.split(".")[0] for handler in stage.functions()} == folders


def test_every_function_on_the_database_waits_for_the_migrations(stage: SynthesisedStage) -> None:
    (applied,) = stage.of_type("Custom::EquerryMigrations")
    early = {
        resource["Properties"]["Handler"]
        for resource in stage.resources.values()
        if resource["Type"] == "AWS::Lambda::Function"
        and applied not in as_list(resource.get("DependsOn", []))
    }

    assert early == {
        "migrator.custom_resource.handle",
        "structured_completion.handler.handle",
        "structured_completion.streaming.handle",
    }


@pytest.mark.req("F-ARCH-08")
def test_local_differs_from_production_only_in_database_and_network(
    local: SynthesisedStage, production: SynthesisedStage
) -> None:
    here = Counter(resource["Type"] for resource in local.resources.values())
    there = Counter(resource["Type"] for resource in production.resources.values())

    assert not here - there
    extra = there - here
    assert {kind: count for kind, count in extra.items() if kind not in ONLY_WITH_AURORA} == FLOW_LOGS


def test_local_and_production_give_functions_the_same_variables(
    local: SynthesisedStage, production: SynthesisedStage
) -> None:
    def names(stage: SynthesisedStage) -> dict[str, set[str]]:
        return {
            handler: set(f["Environment"]["Variables"]) - stated for handler, f in stage.functions().items()
        }

    # Limits are variables only where a stage states them.
    stated = {limit_variable(limit).upper() for limit in LIMITS}

    assert names(local) == names(production)


def test_outputs_name_what_a_product_connects_to(stage: SynthesisedStage) -> None:
    assert set(stage.template["Outputs"]) >= {
        *("HttpApiUrl", "HttpApiId", "WebSocketUrl", "WebSocketApiId", "WebSocketStage"),
        *("UploadsBucketName", "TurnQueueUrl", "TurnDeadLetterQueueUrl", "WorkerFunctionName"),
        *(
            "IndexerFunctionName",
            "StructuredCompletionArn",
            "StructuredCompletionStreamArn",
            "RuntimeSecretArn",
        ),
    }
