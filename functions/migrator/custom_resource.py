"""Answers CloudFormation for the migrator: whatever goes wrong, the deployment fails at once and says why."""

import json
import os
import ssl
import urllib.request
from collections.abc import Mapping
from importlib import import_module
from typing import Any

NAME = "equerry-migrations"
REASON_LENGTH = 900
"""In characters; CloudFormation refuses an answer of more than 4 KB."""


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Run the migrations when there is something new to apply, and answer at the event's ResponseURL."""
    try:
        outcome = {"Status": "SUCCESS", **_run(event, context)}
    except Exception as error:  # noqa: BLE001  # unanswered, CloudFormation would wait for its whole timeout
        outcome = {"Status": "FAILED", "Reason": f"{type(error).__name__}: {error}"[:REASON_LENGTH]}
    answer = {"PhysicalResourceId": event.get("PhysicalResourceId", NAME), **outcome}
    if "ResponseURL" in event:
        _answer(event, answer)
    return answer


def _run(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    if event.get("RequestType") == "Delete" or _is_rollback(event):
        return {}
    # Here, not above: a wrong setting or a missing module is then a reason too.
    handler = import_module("migrator.handler")
    return dict(handler.handle(event, context) or {})


def _is_rollback(event: Mapping[str, Any]) -> bool:
    """Whether all of it was asked for before: migrations only go forward, so nothing is left to do.

    Without this, a database that is down would fail the rollback of the deployment that it failed.
    """
    if event.get("RequestType") != "Update":
        return False
    asked, before = event["ResourceProperties"], event.get("OldResourceProperties", {})
    same_secrets = bool(asked.get("Secrets") == before.get("Secrets"))
    return same_secrets and set(asked["Migrations"].items()) < set(before.get("Migrations", {}).items())


def _answer(event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    asked = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    body = json.dumps({**asked, **answer}, default=str).encode()
    # The address is CloudFormation's own, signed for an empty content type.
    headers = {"content-type": ""}
    request = urllib.request.Request(event["ResponseURL"], data=body, method="PUT", headers=headers)  # noqa: S310
    trust = ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE"))
    with urllib.request.urlopen(request, timeout=30, context=trust):  # noqa: S310
        pass
