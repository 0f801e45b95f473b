"""Answers CloudFormation for the migrator: whatever goes wrong, the deployment fails at once and says why."""

import json
import urllib.request
from collections.abc import Mapping
from typing import Any, Protocol

_REASON_LENGTH = 900  # CloudFormation keeps the whole answer under 4 KB


class _Context(Protocol):
    log_stream_name: str


def handle(event: Mapping[str, Any], context: _Context) -> dict[str, Any]:
    """Run the migrations on create and update; there is nothing to undo on delete."""
    try:
        answered = {"Status": "SUCCESS", **_run(event, context)}
    except Exception as error:  # noqa: BLE001  # unanswered, CloudFormation would wait for the whole timeout
        answered = {"Status": "FAILED", "Reason": f"{type(error).__name__}: {error}"[:_REASON_LENGTH]}
    answered = {"PhysicalResourceId": "equerry-migrations", **answered}
    if "ResponseURL" in event:
        _answer(event, answered)
    return answered


def _run(event: Mapping[str, Any], context: _Context) -> dict[str, Any]:
    if event.get("RequestType") == "Delete":
        return {}
    # Here, not above: a wrong setting or a missing module is then a reason too.
    from migrator import handler

    return dict(handler.handle(event, context) or {})


def _answer(event: Mapping[str, Any], answered: Mapping[str, Any]) -> None:
    asked = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    body = json.dumps({**asked, **answered}, default=str).encode()
    # An empty content type: the pre-signed address is signed without one.
    request = urllib.request.Request(
        event["ResponseURL"], data=body, method="PUT", headers={"content-type": ""}
    )  # noqa: S310
    with urllib.request.urlopen(request, timeout=30):  # noqa: S310  # CloudFormation's own address
        pass
