"""The two functions that complete for other services: what they are, what they may do, how they are found."""

from typing import Any

import pytest

from infra.loading import parse
from infra.reading import ConfigurationRefused
from local.places import ROOT
from tests.infra.evaluated import evaluate, keep_evaluations
from tests.infra.stages import SynthesisedStage, as_list, synthesise

WAITED, STREAMED = "structured_completion.handler.handle", "structured_completion.streaming.handle"
BOTH = (WAITED, STREAMED)
SECRET = "arn:aws:secretsmanager:eu-central-1:111111111111:secret:claude-AbCdEf"
OF_THE_STREAM = {"AWS_LAMBDA_EXEC_WRAPPER", "RESPONSE_STREAM_CONTENT_TYPE"}


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> SynthesisedStage:
    overrides = tmp_path_factory.mktemp("stage") / "completions.toml"
    pairs = ("anthropic/claude-x", "bedrock/nova-x")
    evaluations = keep_evaluations(overrides.parent / "evaluations", *map(evaluate, pairs))
    overrides.write_text(
        f"""
        [model]
        provider = "anthropic"
        id = "claude-x"
        secret_arn = "{SECRET}"
        fallbacks = ["bedrock/nova-x"]
        evaluations = "{evaluations}"
        [structured_completion]
        memory_mib = 2048
        timeout_s = 450
        deadline_ms = 420000
        max_output_tokens = 64000
        reserved_concurrency = 5
        enabled = false
        document_hosts = ["tenders.s3.eu-central-1.amazonaws.com"]
        [structured_completion.profiles.tender-check]
        reasoning = "medium"
        arms = ["google:(?!claude)", "anthropic:claude"]
        """
    )
    return synthesise("production", overrides=str(overrides))


def properties(stage: SynthesisedStage, handler: str) -> dict[str, Any]:
    return dict(stage.functions()[handler])


def variables(stage: SynthesisedStage, handler: str) -> dict[str, Any]:
    return dict(properties(stage, handler)["Environment"]["Variables"])


@pytest.mark.req(
    "A-SC-02", "A-SC-06", "A-SCOP-06", "A-SCOP-07", "A-SCOP-08", "A-SCOP-09", "A-SCOP-10", "A-SCRS-12"
)
@pytest.mark.parametrize("handler", BOTH)
def test_by_default_both_have_the_committed_bounds(stage: SynthesisedStage, handler: str) -> None:
    function, said = properties(stage, handler), variables(stage, handler)

    assert (function["MemorySize"], function["Timeout"]) == (1024, 420)
    assert function["ReservedConcurrentExecutions"] == 30
    assert function["Runtime"].startswith("python3.")
    assert said["STRUCTURED_COMPLETION_DEADLINE_MILLISECONDS"] == "400000"
    assert said["STRUCTURED_COMPLETION_MAX_OUTPUT_TOKENS"] == "8000"


@pytest.mark.req("A-SCST-01", "A-SCST-02")
def test_the_stream_differs_in_how_it_is_started_and_in_nothing_else(profiled: SynthesisedStage) -> None:
    waited, streamed = properties(profiled, WAITED), properties(profiled, STREAMED)
    there = {name: said for name, said in variables(profiled, STREAMED).items() if name not in OF_THE_STREAM}

    assert there == variables(profiled, WAITED)
    assert (
        variables(profiled, STREAMED)["AWS_LAMBDA_EXEC_WRAPPER"] == "/var/task/structured_completion/stream"
    )
    assert variables(profiled, STREAMED)["RESPONSE_STREAM_CONTENT_TYPE"] == "application/x-ndjson"
    for name in (
        "Role",
        "MemorySize",
        "Timeout",
        "ReservedConcurrentExecutions",
        "Code",
        "Layers",
        "Runtime",
    ):
        assert streamed[name] == waited[name], name
    assert (waited["MemorySize"], waited["Timeout"], waited["ReservedConcurrentExecutions"]) == (2048, 450, 5)


def test_what_starts_the_stream_is_deployed_and_can_be_run() -> None:
    script = ROOT / "functions/structured_completion/stream"

    assert script.stat().st_mode & 0o111 == 0o111
    assert script.read_text().startswith("#!/bin/sh\n")


@pytest.mark.req("A-SC-04", "A-SC-03")
@pytest.mark.parametrize("handler", BOTH)
def test_the_role_reads_its_parameters_and_keys_asks_the_provider_and_nothing_else(
    profiled: SynthesisedStage, handler: str
) -> None:
    allowed = {
        action: {str(resource) for resource in as_list(statement["Resource"])}
        for statement in profiled.statements_of(handler)
        for action in as_list(statement["Action"])
    }

    assert allowed.keys() == {
        *("logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTraceSegments", "xray:PutTelemetryRecords"),
        *("ssm:GetParameter", "ssm:GetParameters", "secretsmanager:GetSecretValue"),
        "bedrock:InvokeModelWithResponseStream",
    }
    assert allowed["secretsmanager:GetSecretValue"] == {SECRET}
    declared = profiled.of_type("AWS::SSM::Parameter")
    read = {
        parameter["Name"]
        for name, parameter in declared.items()
        if any(f"'{name}'" in resource for resource in allowed["ssm:GetParameters"])
    }
    assert {name for name in read if "/off/" not in name} == {
        "/equerry/production/structured-completions-enabled",
        "/equerry/production/ai/tender-check/provider",
        "/equerry/production/ai/tender-check/model",
    }
    assert len(allowed["logs:PutLogEvents"]) == 2


@pytest.mark.req("A-SC-03", "A-SCST-03")
def test_neither_has_an_address_a_vpc_or_a_policy_of_its_own(stage: SynthesisedStage) -> None:
    aliases = stage.of_type("AWS::Lambda::Alias").items()
    own = {name for name, alias in aliases if "StructuredCompletion" in str(alias["FunctionName"])}

    assert len(own) == 2
    assert not stage.of_type("AWS::Lambda::Url")
    for handler in BOTH:
        assert "VpcConfig" not in properties(stage, handler)
        assert not any("TABLE" in name or "DATABASE" in name for name in variables(stage, handler))
    for permission in stage.of_type("AWS::Lambda::Permission").values():
        assert "StructuredCompletion" not in str(permission["FunctionName"])


def test_what_nobody_waits_for_is_not_asked_three_times(stage: SynthesisedStage) -> None:
    """Lambda keeps an event for six hours otherwise, and repeats one that failed twice."""
    configured = {
        str(entry["FunctionName"]): (entry["MaximumRetryAttempts"], entry["MaximumEventAgeInSeconds"])
        for entry in stage.of_type("AWS::Lambda::EventInvokeConfig").values()
        if "live" in str(entry["Qualifier"]).lower()
    }
    aliases = stage.of_type("AWS::Lambda::Alias").values()
    own = {str(alias["FunctionName"]) for alias in aliases if "StructuredCompletion" in str(alias)}

    assert len(own) == 2
    assert configured == dict.fromkeys(own, (0, 60))


@pytest.mark.req("A-SC-05", "A-SCST-04")
def test_callers_find_both_aliases(stage: SynthesisedStage) -> None:
    outputs = stage.template["Outputs"]
    parameters = {entry["Name"]: entry for entry in stage.of_type("AWS::SSM::Parameter").values()}

    for kind, name in (
        ("StructuredCompletion", "structured-completion-function-arn"),
        ("StructuredCompletionStream", "structured-completion-stream-function-arn"),
    ):
        published = parameters[f"/equerry/{stage.config.stage}/{name}"]
        assert published["Value"] == outputs[f"{kind}Arn"]["Value"]
        named = outputs[f"{kind}FunctionArnSsmParameter"]["Value"]["Ref"]
        assert stage.of_type("AWS::SSM::Parameter")[named] == published


@pytest.mark.req("A-SCOP-01", "A-SCOP-02", "A-SCOP-05")
def test_the_switch_is_seeded_and_never_written_again(
    stage: SynthesisedStage, profiled: SynthesisedStage
) -> None:
    def switch(of: SynthesisedStage) -> dict[str, Any]:
        (found,) = (
            entry
            for entry in of.of_type("AWS::SSM::Parameter").values()
            if entry["Name"].endswith("/structured-completions-enabled")
        )
        return dict(found)

    # CloudFormation writes the whole parameter when anything of it changes, and so an operator's value away.
    assert switch(stage) == {
        "Name": f"/equerry/{stage.config.stage}/structured-completions-enabled",
        "Type": "String",
        "Value": "true",
        "AllowedPattern": "true|false",
        "Description": '"false" stops structured completions within 30 seconds; "true" lets them run again',
    }
    assert switch(profiled)["Value"] == "false"
    said = variables(stage, WAITED)
    assert "STRUCTURED_COMPLETIONS_ENABLED" not in said
    assert "ASSISTANT_ENABLED_SSM_PARAMETER" not in said


@pytest.mark.req("A-SCMP-03", "A-SCMP-06", "A-SCMP-07", "A-SCDO-09", "A-SCDO-08")
def test_profiles_and_hosts_are_configuration(profiled: SynthesisedStage) -> None:
    said, parameters = variables(profiled, WAITED), profiled.of_type("AWS::SSM::Parameter")

    for variable, name in (("PROVIDER", "provider"), ("MODEL_ID", "model")):
        parameter = parameters[said[f"TENDER_CHECK_{variable}_SSM_PARAMETER"]["Ref"]]
        assert (parameter["Name"], parameter["Value"]) == (
            f"/equerry/production/ai/tender-check/{name}",
            "UNSET",
        )
    own, other = "".join(map(str, said["STRUCTURED_COMPLETION_DOCUMENT_HOSTS"]["Fn::Join"][1])).split(
        ",tenders"
    )
    assert ".s3." in own
    assert "UploadsBucket" in own
    assert other == ".s3.eu-central-1.amazonaws.com"


@pytest.mark.req("A-SCOP-11")
@pytest.mark.parametrize("kind", ["StructuredCompletion", "StructuredCompletionStream"])
@pytest.mark.parametrize("what", ["Errors", "Throttles"])
def test_errors_and_throttles_ring_for_both(stage: SynthesisedStage, kind: str, what: str) -> None:
    handler = WAITED if kind == "StructuredCompletion" else STREAMED
    name = next(
        logical_id
        for logical_id, entry in stage.of_type("AWS::Lambda::Function").items()
        if entry.get("Handler") == handler
    )
    (alarm,) = (
        entry
        for entry in stage.of_type("AWS::CloudWatch::Alarm").values()
        if entry.get("MetricName") == what and {"Ref": name} in [at["Value"] for at in entry["Dimensions"]]
    )

    assert (alarm["Period"], alarm["Threshold"], alarm["EvaluationPeriods"]) == (300, 1, 1)
    assert (alarm["Statistic"], alarm["TreatMissingData"]) == ("Sum", "notBreaching")
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


@pytest.mark.req("A-SCOP-06", "A-SCOP-07", "A-SCOP-08", "A-SCOP-09")
@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ({"memory_mib": 511}, "memory_mib: must be a whole number from 512 to 10240"),
        ({"memory_mib": 10241}, "memory_mib"),
        ({"timeout_s": 29}, "timeout_s: must be a whole number from 30 to 450"),
        ({"timeout_s": 451}, "timeout_s"),
        ({"deadline_ms": 999}, "deadline_ms: must be a whole number from 1000"),
        ({"deadline_ms": 420_000}, "deadline_ms: must be below timeout_s (420 s), got 420000"),
        ({"timeout_s": 30, "deadline_ms": 30_000}, "deadline_ms: must be below timeout_s"),
        ({"timeout_s": 30}, "deadline_ms: must be below timeout_s (30 s), got 400000"),
        ({"max_output_tokens": 0}, "max_output_tokens: must be a whole number from 1 to 64000"),
        ({"max_output_tokens": 64_001}, "max_output_tokens"),
        ({"document_hosts": ["https://x"]}, "document_hosts: must hold hosts"),
        ({"profiles": {"Bad": {"arms": ["google"]}}}, "profiles.Bad: must be words"),
        ({"profiles": {"a": {"arms": []}}}, "profiles.a.arms: must hold at least 1"),
        ({"profiles": {"a": {"arms": ["google:("]}}}, "is no regular expression"),
        ({"profiles": {"a": {"arms": ["google"], "reasoning": "hard"}}}, "profiles.a.reasoning"),
        ({"models": 1}, "models: is not a setting here"),
    ],
)
def test_bounds_are_checked_before_anything_is_deployed(stated: dict[str, Any], complaint: str) -> None:
    table = {
        "stage": "test",
        "region": "eu-central-1",
        "auth": {"jwks_url": "https://a", "issuer": "https://a"},
        "structured_completion": stated,
    }

    with pytest.raises(ConfigurationRefused) as caught:
        parse(table, source="a test")

    assert any(
        f"structured_completion.{complaint}" in line or complaint in line for line in caught.value.problems
    )
