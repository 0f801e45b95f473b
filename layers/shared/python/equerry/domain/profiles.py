"""Profiles: assistants as data, checked by one validator wherever they come from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps

from equerry.domain.corpora import parse_corpus_id
from equerry.domain.fast_path import FastPath, check_fast_path, read_fast_path
from equerry.domain.principal import Role
from equerry.domain.turn_context import DEFAULT_ROUTES, RoutePattern, parse_route_pattern
from equerry.engine.loop_limits import LoopLimits
from equerry.kernel.errors import InvalidInput, NotFound
from equerry.kernel.identifiers import CorpusId
from equerry.kernel.kinds import value

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_TEXTS = ("title", "identity", "guidance")
_OPTIONAL = {"tools", "corpora", "limits", "task_class", "surfaces", "roles", "routes", "fast_path"}
_LISTS = ("tools", "corpora", "surfaces", "roles", "routes")
_ROLES: dict[str, Role] = {"member": "member", "admin": "admin"}
DEFAULT_SURFACE = "chat"
"""Where a conversation stands whose page did not say."""
PLATFORM_LIMITS = LoopLimits()
"""What no profile may exceed."""


class InvalidProfile(InvalidInput):
    """A profile's data does not fit; every problem is listed."""

    code = "invalid_profile"


class UnknownProfile(NotFound):
    """No profile of that name is installed."""

    code = "profile_not_found"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """An assistant.

    Attributes:
        version: of the profile's content; changes with every edit.
        tools: names, in the order the model sees them.
        corpora: what its tools may search; None stands for every corpus the person may read.
        surfaces: where in the product it answers.
        roles: whom it answers.
        routes: pages of the product whose address says what is on them; the first that fits counts.
        fast_path: the questions it answers without a model; None: every question goes to the model.
    """

    name: str
    version: str
    title: str
    identity: str
    guidance: str
    tools: tuple[str, ...] = ()
    corpora: tuple[CorpusId, ...] | None = None
    limits: LoopLimits = field(default_factory=LoopLimits)
    task_class: str = "chat"
    surfaces: tuple[str, ...] = (DEFAULT_SURFACE,)
    roles: tuple[Role, ...] = ("member", "admin")
    routes: tuple[RoutePattern, ...] = DEFAULT_ROUTES
    fast_path: FastPath | None = None


def read_profile(name: str, data: Mapping[str, object]) -> Profile:
    """Build a profile from its data.

    Raises:
        InvalidProfile: anything is missing, unknown, of another type, or over the platform's limits.
    """
    problems = [*_check_shape(name, data), *_check_lists(data), *_check_places(data), *_check_limits(data)]
    problems += check_fast_path(data.get("fast_path"))
    if problems:
        raise InvalidProfile(f"profile {name!r}: " + "; ".join(problems))
    corpora = _strings(data.get("corpora", ["*"]))
    limits = data.get("limits", {})
    return Profile(
        name=name,
        version=sha256(dumps(data, sort_keys=True).encode()).hexdigest()[:12],
        title=str(data["title"]),
        identity=str(data["identity"]).strip(),
        guidance=str(data["guidance"]).strip(),
        tools=_strings(data.get("tools", [])),
        corpora=None if corpora == ("*",) else tuple(parse_corpus_id(corpus) for corpus in corpora),
        limits=LoopLimits(**limits) if isinstance(limits, Mapping) else LoopLimits(),
        task_class=str(data.get("task_class", "chat")),
        surfaces=_strings(data.get("surfaces", [DEFAULT_SURFACE])),
        roles=tuple(_ROLES[role] for role in _strings(data.get("roles", list(_ROLES)))),
        routes=_routes(data),
        fast_path=read_fast_path(data.get("fast_path")),
    )


def _check_shape(name: str, data: Mapping[str, object]) -> list[str]:
    problems = []
    if not _NAME.fullmatch(name):
        problems.append(f"its name must match {_NAME.pattern}, got {name!r}")
    for key in _TEXTS:
        text = data.get(key)
        if not isinstance(text, str) or not text.strip():
            problems.append(f"{key!r} must be text that is not blank, got {text!r}")
    unknown = sorted(set(data) - set(_TEXTS) - _OPTIONAL)
    if unknown:
        problems.append(f"unknown keys {unknown}; known are {sorted({*_TEXTS, *_OPTIONAL})}")
    return problems


def _check_lists(data: Mapping[str, object]) -> list[str]:
    problems = []
    for key in _LISTS:
        entries = data.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            problems.append(f"{key!r} must be a list of names, got {entries!r}")
        elif len(set(entries)) != len(entries):
            problems.append(f"{key!r} names something twice: {entries!r}")
    return problems


def _check_places(data: Mapping[str, object]) -> list[str]:
    problems = [
        f"unknown role {role!r}; known are {sorted(_ROLES)}"
        for role in _strings(data.get("roles", []))
        if role not in _ROLES
    ]
    problems += [
        f"surface {surface!r} must match {_NAME.pattern}"
        for surface in _strings(data.get("surfaces", []))
        if not _NAME.fullmatch(surface)
    ]
    try:
        _routes(data)
    except InvalidInput as broken:
        problems.append(str(broken))
    return problems


def _routes(data: Mapping[str, object]) -> tuple[RoutePattern, ...]:
    if "routes" not in data:
        return DEFAULT_ROUTES
    return tuple(parse_route_pattern(text) for text in _strings(data["routes"]))


def _check_limits(data: Mapping[str, object]) -> list[str]:
    limits = data.get("limits", {})
    if not isinstance(limits, Mapping):
        return [f"'limits' must be a table, got {limits!r}"]
    problems = []
    for key, entry in limits.items():
        most = getattr(PLATFORM_LIMITS, key, None)
        if most is None:
            problems.append(f"unknown limit {key!r}")
        elif isinstance(entry, bool) or not isinstance(entry, int | float) or not 0 < entry <= most:
            problems.append(f"limit {key!r} must be above 0 and at most {most}, got {entry!r}")
    return problems


def _strings(entries: object) -> tuple[str, ...]:
    return tuple(str(entry) for entry in entries) if isinstance(entries, list) else ()
