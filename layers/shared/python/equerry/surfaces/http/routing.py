"""What a route is, and which failures every route can answer with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from equerry.kernel.kinds import value
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest

PREFIX = "/api/assistant"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An optional query or header parameter, for the contract."""

    name: str
    description: str
    schema: Literal["integer", "string"] = "string"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation of the API.

    Attributes:
        path: below the prefix, with parameters in braces.
        handle: decodes, calls one service, encodes.
        failures: statuses beyond those that every route has.
        media_type: of an answer that is no model; its body is described in words alone.
        otherwise: a second success, without a body: its status, and when.
        recognises: needs no token, and knows the caller of one that verifies.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    operation: str
    summary: str
    handle: Callable[[HttpRequest], HttpAnswer]
    status: int = 200
    request: type[BaseModel] | None = None
    answer: type[BaseModel] | None = None
    query: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    failures: tuple[int, ...] = ()
    media_type: str | None = None
    otherwise: tuple[int, str] | None = None
    authenticated: bool = True
    recognises: bool = False
    documented: bool = True
