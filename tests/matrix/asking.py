"""A cell of the matrix as a request: which ids stand where, and what goes with them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from equerry.surfaces.http.routing import Route

from tests.matrix.people import ELSEWHERE, HERE, Person, Relation
from tests.matrix.rules import Cell, Outcome
from tests.matrix.slots import PARAMETER, SOCKET, Slot, find_siblings

CORPORA = {HERE: "hillside-library", ELSEWHERE: "harbours-library"}
NO_CORPUS = "no-library-at-it"
GARBLED = "0F8FAD5B-D9CB-469F-A165-70867728950E"
"""What nobody's parser may take for the id in lower case."""
GARBLED_NAME = "Hillside-Library"
BODIES: Mapping[str, Mapping[str, object]] = {
    "submitTurn": {"text": "And what else is there to know?"},
    "recordInteraction": {"kind": "opened"},
    "announceFiles": {
        "files": [{"path": "new.md", "sha256": hashlib.sha256(b"new").hexdigest(), "sizeBytes": 3}]
    },
}
"""What a route's body has to say beside ids; one that is missing fails the matrix."""

Names = Mapping[str, str]
"""The ids of somebody's things by the name of the slot they go into, and of an `open` conversation."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, whoever sends it: `frame` on the socket, all else over HTTP."""

    method: str
    path: str = ""
    query: Mapping[str, str] | None = None
    body: Mapping[str, object] | None = None
    frame: Mapping[str, object] | None = None
    named: tuple[str, ...] = ()

    def hide_ids(self, text: str) -> str:
        """Return an answer's text without the ids that it was asked for."""
        for name in self.named:
            text = text.replace(name, "ID")
        return text


def build_request(
    cell: Cell, things: Mapping[Person, Names], asker: Person, *, garbled: str | None = None
) -> Request:
    """Return the question of a cell, as `asker` puts it.

    What stands before the slot is the owner's if the cell is to succeed, else the asker's own; what stands
    after it is the owner's where the route cannot be asked without, and is left out where it can.

    Args:
        garbled: what stands for a malformed id, if not the usual.
    """
    slot, ids = cell.slot, dict[str, str]()
    siblings = find_siblings(slot)
    place = siblings.index(slot)
    before = things[cell.relation.owner or asker] if cell.expected is Outcome.SUCCESS else _own(things[asker])
    for sibling in siblings[:place]:
        ids[sibling.name] = before[_singular(sibling)]
    ids[slot.name] = _name_target(cell, slot, things) if garbled is None else garbled
    for sibling in siblings[place + 1 :]:
        if sibling.place == "path":
            ids[sibling.name] = _name_target(cell, sibling, things, after=True)
    return _fill(slot, ids)


def build_call(route: Route, names: Names) -> Request:
    """Return the request of a route, with these names wherever its path has one."""
    ids = {name: names[name] for name in PARAMETER.findall(route.path)}
    body = BODIES.get(route.operation, {}) if route.request else None
    return Request(route.method, route.path.format(**ids), body=body, named=tuple(ids.values()))


def invent_names() -> Names:
    """Return well-formed ids that were never issued."""
    names = ("conversationId", "runId", "artifactId", "passageId", "documentId")
    return {name: str(uuid4()) for name in names} | {"corpusId": NO_CORPUS}


def _own(things: Names) -> Names:
    return {**things, "conversationId": things["open"]}


def _name_target(cell: Cell, slot: Slot, things: Mapping[Person, Names], *, after: bool = False) -> str:
    name = _singular(slot)
    if cell.relation is Relation.MALFORMED and not after:
        return GARBLED_NAME if name == "corpusId" else GARBLED
    if cell.relation is Relation.UNKNOWN:
        return invent_names()[name]
    return things[cell.relation.owner or cell.relation.asker][name]


def _singular(slot: Slot) -> str:
    return slot.name.removesuffix("s") if slot.name.endswith("Ids") else slot.name


def _fill(slot: Slot, ids: Names) -> Request:
    named = tuple(ids.values())
    if slot.method == SOCKET:
        return Request(SOCKET, frame={"action": slot.operation, **ids}, named=named)
    parts: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    for sibling in find_siblings(slot):
        if sibling.name in ids:
            parts[sibling.place][sibling.name] = ids[sibling.name]
    stated = BODIES[slot.operation] if slot.method == "POST" and slot.operation != "cancelRun" else {}
    body = {**stated, **parts["body"]} or None
    return Request(
        slot.method, slot.path.format(**parts["path"]), query=parts["query"], body=body, named=named
    )
