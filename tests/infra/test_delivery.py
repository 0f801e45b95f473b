"""What carries answers to their readers: artifacts too large for a frame, and events over HTTP."""

import pytest

from tests.infra.stages import SynthesisedStage, as_list


def test_an_artifact_is_not_forgotten_by_age_alone(production: SynthesisedStage) -> None:
    """It goes with its conversation, which somebody may go on with for years."""
    expiring = {
        rule["Prefix"]
        for bucket in production.of_type("AWS::S3::Bucket").values()
        for rule in bucket.get("LifecycleConfiguration", {}).get("Rules", [])
        if "ExpirationInDays" in rule
    }

    assert expiring == {"exports/"}


@pytest.mark.parametrize("handler", ["worker.handler.handle", "worker.reaper.handle"])
def test_who_ends_runs_writes_artifacts_and_reaches_no_document(
    stage: SynthesisedStage, handler: str
) -> None:
    reached = {
        str(resource).partition("/")[2]
        for statement in stage.statements_of(handler)
        if any(action.startswith("s3:") for action in as_list(statement["Action"]))
        for resource in as_list(statement["Resource"])
    }

    assert len(reached) == 1
    assert reached.pop().startswith("artifacts/*")


@pytest.mark.req("A-TURN-07")
def test_a_page_of_an_allowed_origin_reads_events_and_says_where_it_stands(
    production: SynthesisedStage,
) -> None:
    (api,) = (
        api for api in production.of_type("AWS::ApiGatewayV2::Api").values() if api["ProtocolType"] == "HTTP"
    )

    assert api["CorsConfiguration"]["AllowOrigins"] == ["https://app.example.com"]
    assert "last-event-id" in api["CorsConfiguration"]["AllowHeaders"]
    assert "GET" in api["CorsConfiguration"]["AllowMethods"]
