"""CloudFormation always gets an answer, and a failed migration says why."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from migrator import custom_resource

from infra.migrator import migrations_in
from tests.infra.stages import SynthesisedStage, synthesise


class Answers(HTTPServer):
    """Stands where CloudFormation waits."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Keep)


class _Keep(BaseHTTPRequestHandler):
    server: Answers

    def do_PUT(self) -> None:  # the base class asks for this name
        """Keep one answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def cloudformation() -> Iterator[Answers]:
    """A place to answer to."""
    with Answers() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def event(server: Answers, kind: str, **more: Any) -> dict[str, Any]:
    """A request for two migrations."""
    return {
        "RequestType": kind,
        "ResponseURL": f"http://127.0.0.1:{server.server_port}/answer",
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "Applied",
        "ResourceProperties": {"Migrations": {"1.sql": "a", "2.sql": "b"}, "Secrets": ["x"]},
        **more,
    }


def test_a_migrator_that_cannot_even_start_fails_the_deployment_with_its_reason(
    cloudformation: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OWNER_SECRET_ARN", "RUNTIME_SECRET_ARN", "PLATFORM_SECRET_ARN", "EQUERRY_STAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "migrator.handler", raising=False)

    custom_resource.handle(event(cloudformation, "Create"), None)

    (answer,) = cloudformation.received
    assert answer["Status"] == "FAILED"
    assert "is not set" in answer["Reason"]
    assert (answer["StackId"], answer["RequestId"], answer["LogicalResourceId"]) == (
        "stack",
        "request",
        "Applied",
    )


def test_a_rollback_has_nothing_to_apply_and_so_cannot_fail(cloudformation: Answers) -> None:
    before = {"Migrations": {"1.sql": "a", "2.sql": "b", "3.sql": "c"}, "Secrets": ["x"]}
    request = event(cloudformation, "Update", OldResourceProperties=before, PhysicalResourceId="old")

    custom_resource.handle(request, None)

    (answer,) = cloudformation.received
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", "old")


def test_deleting_the_stack_leaves_the_schema_alone(cloudformation: Answers) -> None:
    custom_resource.handle(event(cloudformation, "Delete", PhysicalResourceId="old"), None)

    assert cloudformation.received[0]["Status"] == "SUCCESS"


def test_a_changed_migration_is_seen_and_other_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "1.sql").write_text("create table a ()")
    before = migrations_in(tmp_path)
    (tmp_path / "notes.md").write_text("x")
    same = migrations_in(tmp_path)
    (tmp_path / "1.sql").write_text("create table b ()")

    assert same == before
    assert migrations_in(tmp_path) != before


def read_secrets(stage: SynthesisedStage) -> tuple[Any, list[Any]]:
    """What the migrator is told of the secrets, and the templates that passwords are made for."""
    (applied,) = stage.of_type("Custom::EquerryMigrations").values()
    made = [
        secret["GenerateSecretString"]["SecretStringTemplate"]
        for secret in stage.of_type("AWS::SecretsManager::Secret").values()
        if "GenerateSecretString" in secret
    ]
    return applied["Secrets"], made


def test_a_password_that_is_made_anew_is_set_by_the_same_deployment(
    local: SynthesisedStage, tmp_path: Path
) -> None:
    overrides = tmp_path / "moved.toml"
    overrides.write_text("[database]\nport = 5999\n")
    told, made = read_secrets(local)
    told_moved, made_moved = read_secrets(synthesise("local", overrides=str(overrides)))

    assert made != made_moved
    assert told != told_moved


def test_a_database_elsewhere_is_another_secret_to_the_migrator(production: SynthesisedStage) -> None:
    told, _ = read_secrets(production)

    assert json.dumps(told).count("Endpoint.Address") == 2
    assert json.dumps(told).count("Endpoint.Port") == 2
