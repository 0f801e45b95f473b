"""Whose keys a stage believes, and as whom its functions enter the database."""

from typing import Any

import pytest

from tests.infra.stages import SynthesisedStage, as_list

SERVING = (
    "turn.http.handle",
    "turn.websocket.handle",
    "worker.handler.handle",
    "worker.reaper.handle",
)


def find_database(stage: SynthesisedStage, handler: str) -> Any:
    return stage.functions()[handler]["Environment"]["Variables"]["DATABASE_SECRET_ARN"]


@pytest.mark.req("A-AUTH-05")
def test_each_stage_tells_the_entry_point_where_the_keys_are(
    production: SynthesisedStage, local: SynthesisedStage
) -> None:
    for stage in (production, local):
        variables = stage.functions()["turn.http.handle"]["Environment"]["Variables"]
        assert variables["AUTH_JWKS_URL"] == stage.config.auth.jwks_url
        assert variables["AUTH_JWKS_URL"].startswith("http")


@pytest.mark.req("A-TEN-04", "A-TEN-05")
def test_whatever_serves_people_enters_the_database_as_the_runtime_role_and_cannot_as_another(
    stage: SynthesisedStage,
) -> None:
    for handler in SERVING:
        named = str(find_database(stage, handler))
        assert "Runtime" in named, (handler, named)
        readable = [
            str(resource)
            for statement in stage.statements_of(handler)
            if "secretsmanager:GetSecretValue" in as_list(statement["Action"])
            for resource in as_list(statement["Resource"])
        ]
        assert not [name for name in readable if "Platform" in name or "Owner" in name], handler
    assert "Platform" in str(find_database(stage, "retention.handler.handle"))
