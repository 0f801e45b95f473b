"""Every place in which a caller names something by an id, read from what is served: nobody lists them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, Literal, cast, get_args

from equerry.surfaces.http.registry import Deployment, HttpServices, build_routes
from equerry.surfaces.http.routing import Route
from equerry.surfaces.websocket.frames import ReaderFrame
from pydantic import BaseModel

Place = Literal["path", "query", "header", "body", "frame"]
PARAMETER = re.compile(r"\{(\w+)\}")
IS_ID = re.compile(r"(?:\b[iI]|I|-I)[dD]s?$")
SOCKET = "WS"


@dataclass(frozen=True, slots=True)
class Slot:
    """One such place: the parameter `runId` of GET /runs/{runId}, or the field of that name in a frame.

    Attributes:
        method: of HTTP, or WS for a frame that a reader sends.
        path: of the route, or the frame's action.
        success: the status where the caller may, 200 for a frame.
        needs_admin: the route says that it is for administrators.
    """

    operation: str
    method: str
    path: str
    place: Place
    name: str
    success: int = 200
    needs_admin: bool = False

    @property
    def key(self) -> str:
        """How the slot is declared: getRun.runId."""
        return f"{self.operation}.{self.name}"

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.name}"


class _Anything:
    """Has every service there is; nobody calls one."""

    def __getattr__(self, name: str) -> "_Anything":
        return self


@cache
def list_routes() -> tuple[Route, ...]:
    """Return every route that is served."""
    nothing = dict.fromkeys(("version", "commit", "lambda_version", "default_profile", "websocket_url"), "")
    return build_routes(cast("HttpServices", _Anything()), Deployment(**nothing))


def needs_admin(route: Route) -> bool:
    """Whether a route declares that it refuses some of those who have a person's token."""
    return HTTPStatus.FORBIDDEN in route.failures


@cache
def list_slots() -> tuple[Slot, ...]:
    """Return every slot: those of routes in the registry's order, then those of frames."""
    return (*read_slots(list_routes()), *_read_frames())


def read_slots(routes: Iterable[Route]) -> Iterator[Slot]:
    """Return what is named by ids in requests to these routes."""
    for route in routes:
        yield from _read_route(route)


def find_siblings(slot: Slot) -> tuple[Slot, ...]:
    """Return the slots of the same operation, this one among them, in the order a request is read."""
    return tuple(other for other in list_slots() if other.operation == slot.operation)


def _read_route(route: Route) -> Iterator[Slot]:
    named: tuple[tuple[Place, list[str]], ...] = (
        ("path", PARAMETER.findall(route.path)),
        ("query", [parameter.name for parameter in route.query if IS_ID.search(parameter.name)]),
        ("header", [parameter.name for parameter in route.headers if IS_ID.search(parameter.name)]),
        ("body", list(_read_model(route.request)) if route.request else []),
    )
    for place, names in named:
        for name in names:
            yield Slot(
                operation=route.operation,
                method=route.method,
                path=route.path,
                place=place,
                name=name,
                success=route.status,
                needs_admin=needs_admin(route),
            )


def _read_frames() -> Iterator[Slot]:
    for model in get_args(ReaderFrame):
        for action in get_args(model.model_fields["action"].annotation):
            for name in _read_model(model):
                yield Slot(operation=action, method=SOCKET, path=action, place="frame", name=name)


def _read_model(model: type[BaseModel]) -> Iterator[str]:
    """Return the names on the wire of all fields that hold ids, those of nested objects included."""
    for name, field in model.model_fields.items():
        if IS_ID.search(field.alias or name):
            yield field.alias or name
        for nested in _find_models(field.annotation):
            yield from _read_model(nested)


def _find_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _find_models(argument)
