"""A release moves an alias to a published version, and so is taken back by moving it again."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.stages import SynthesisedStage

MIGRATOR = "migrator.custom_resource.handle"
"""Is part of the deployment itself, which must run the code it brings."""


def aliases_of(stage: SynthesisedStage) -> dict[str, str]:
    """Return the logical ids of aliases, by the handler of their function."""
    functions = stage.of_type("AWS::Lambda::Function")
    return {
        functions[alias["FunctionName"]["Ref"]]["Handler"]: name
        for name, alias in stage.of_type("AWS::Lambda::Alias").items()
    }


def list_called(stage: SynthesisedStage) -> Iterator[tuple[str, Any]]:
    """Yield what calls functions: event sources, schedules and both APIs, each with whom it calls."""
    for name, source in stage.of_type("AWS::Lambda::EventSourceMapping").items():
        yield name, source["FunctionName"]
    for name, rule in stage.of_type("AWS::Events::Rule").items():
        yield from ((name, target["Arn"]) for target in rule["Targets"])
    for name, integration in stage.of_type("AWS::ApiGatewayV2::Integration").items():
        yield name, integration["IntegrationUri"]


@pytest.mark.req("A-SPEC-14")
def test_every_function_but_the_migrator_is_called_by_its_alias_live(stage: SynthesisedStage) -> None:
    assert {alias["Name"] for alias in stage.of_type("AWS::Lambda::Alias").values()} == {"live"}
    assert aliases_of(stage).keys() == stage.functions().keys() - {MIGRATOR}


@pytest.mark.req("A-SPEC-14")
def test_whatever_calls_a_function_calls_an_alias(stage: SynthesisedStage) -> None:
    aliases, called = set(aliases_of(stage).values()), dict(list_called(stage))

    assert len(called) == 3 + 2 + 1 + 3
    for name, whom in called.items():
        assert [alias for alias in aliases if f"'{alias}'" in str(whom)], name


@pytest.mark.req("A-SPEC-14")
def test_an_alias_points_at_a_published_version_and_versions_outlive_the_next_release(
    stage: SynthesisedStage,
) -> None:
    versions = {name: r for name, r in stage.resources.items() if r["Type"] == "AWS::Lambda::Version"}

    for alias in stage.of_type("AWS::Lambda::Alias").values():
        (version,) = (v for name, v in versions.items() if name == alias["FunctionVersion"]["Fn::GetAtt"][0])
        assert version["Properties"]["FunctionName"] == alias["FunctionName"]
    assert {version["DeletionPolicy"] for version in versions.values()} == {"Retain"}


@pytest.mark.req("A-ALARM-01")
def test_alarms_count_a_function_s_calls_under_whatever_alias_or_version(stage: SynthesisedStage) -> None:
    alarms = stage.of_type("AWS::CloudWatch::Alarm").values()
    watching = [alarm["Dimensions"] for alarm in alarms if alarm["Namespace"] == "AWS/Lambda"]

    assert watching
    assert all([dimension["Name"] for dimension in where] == ["FunctionName"] for where in watching)
