"""How a stack is: what its supervisor last said, held against the machine."""

from typing import Any

from local.errors import PartFailed
from local.files import read_json
from local.places import Places
from local.ports import is_listening
from local.supervisor import find_supervisor

Status = dict[str, Any]


def read_status(places: Places) -> Status | None:
    """Return the supervisor's last word, corrected if it is dead; None if no stack runs here."""
    status = read_json(places.status)
    if not isinstance(status, dict):
        return None
    if find_supervisor(places) is None and status["state"] != "failed":
        return status | {"state": "failed", "failure": "the supervisor was killed\nmake up"}
    return status


def probe_status(places: Places) -> Status | None:
    """Return the same with every part asked: one that should run and accepts no connection is `silent`."""
    status = read_status(places)
    if status is None:
        return None
    parts = [_probe(part) for part in status["parts"]]
    silent = [part for part in parts if part["state"] == "silent"]
    if status["state"] != "running" or not silent:
        return status | {"parts": parts}
    names = ", ".join(f"{part['name']} (port {part['port']})" for part in silent)
    failure = f"no answer from {names}\nmake down, then make up"
    return status | {"parts": parts, "state": "failed", "failure": failure}


def to_error(status: Status, places: Places) -> PartFailed:
    """Return a failed status as an error."""
    message, _, remedy = str(status["failure"]).partition("\n")
    return PartFailed(message, remedy or f"see {places.logs}")


def _probe(part: Status) -> Status:
    if part["state"] != "running" or is_listening(part["port"]):
        return part
    return part | {"state": "silent"}
