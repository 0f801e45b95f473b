"""The pages of the product around an assistant, as data: what is matched, linked to and never guessed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from json import dumps
from typing import Literal, cast

from equerry.kernel.errors import InvalidInput, NotFound
from equerry.kernel.kinds import value

RouteScope = Literal["global", "project"]
Visibility = Literal["primary", "hidden", "chromeless"]
"""primary stands in the menu, hidden is reached from a page, chromeless has no frame and is never offered."""

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_SEGMENT = re.compile(r"[\w.~-]+|:[A-Za-z]\w{0,62}", re.ASCII)
_HINT = re.compile(r"(?!\.+$)[\w.~-]{1,128}", re.ASCII)
_TEXTS = ("id", "label", "path")
_CHOICES = {"scope": ("global", "project"), "visibility": ("primary", "hidden", "chromeless")}
_OPTIONAL = {"synonyms", "group", *_CHOICES}
MAX_ROUTES = 500


class InvalidCatalogue(InvalidInput):
    """A catalogue's data does not fit; every problem is listed."""

    code = "invalid_catalogue"


class UnknownCatalogue(NotFound):
    """No catalogue of that name is installed."""

    code = "catalogue_not_found"


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRoute:
    """One page.

    Attributes:
        path: absolute within the product; a segment `:projectId` stands for an id.
        synonyms: what people call it besides its label.
        group: where it stands in the menu; context alone, nothing depends on it.
    """

    route_id: str
    label: str
    path: str
    synonyms: tuple[str, ...] = ()
    scope: RouteScope = "global"
    visibility: Visibility = "primary"
    group: str | None = None

    def find_path(self, hints: Mapping[str, str]) -> str | None:
        """Return the path with its ids filled in; None if one is not known or could be more than one segment.

        Hints come from the page: they only fill in an address, and what is there is for the product to allow.
        """
        filled = [hints.get(part[1:], "") if part.startswith(":") else part for part in self.path.split("/")]
        known = all(
            _HINT.fullmatch(segment)
            for segment, part in zip(filled, self.path.split("/"), strict=True)
            if part.startswith(":")
        )
        return "/".join(filled) if known else None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCatalogue:
    """A product's pages, in the order of their file; `version` changes with every edit."""

    name: str
    version: str
    routes: tuple[ProductRoute, ...]

    def list_offered(self) -> tuple[ProductRoute, ...]:
        """Return the routes a person may be sent to."""
        return tuple(route for route in self.routes if route.visibility != "chromeless")


def read_catalogue(name: str, data: object) -> RouteCatalogue:
    """Build a catalogue from its data: a list of routes, or a table that holds one under `routes`.

    Raises:
        InvalidCatalogue: anything is missing, unknown, of another type, or there twice.
    """
    entries = data.get("routes") if isinstance(data, Mapping) else data
    problems = list(_check(data, entries))
    if problems:
        raise InvalidCatalogue(f"catalogue {name!r}: " + "; ".join(problems))
    routes = cast("list[Mapping[str, object]]", entries)
    return RouteCatalogue(
        name=name,
        version=sha256(dumps(routes, sort_keys=True).encode()).hexdigest()[:12],
        routes=tuple(_build_route(entry) for entry in routes),
    )


def _check(data: object, entries: object) -> Iterator[str]:
    if isinstance(data, Mapping) and (unknown := sorted(set(data) - {"routes"})):
        yield f"unknown keys {unknown}; known is 'routes'"
    if not isinstance(entries, list) or not entries or len(entries) > MAX_ROUTES:
        yield f"'routes' must be a list of 1 to {MAX_ROUTES} tables"
        return
    for at, entry in enumerate(entries):
        yield from (f"route {at + 1}: {problem}" for problem in _check_route(entry))
    tables = [entry for entry in entries if isinstance(entry, Mapping)]
    for key in ("id", "path"):
        given = [str(entry[key]) for entry in tables if key in entry]
        for twice in sorted({text for text in given if given.count(text) > 1}):
            yield f"two routes have the {key} {twice!r}"


def _check_route(entry: object) -> Iterator[str]:
    if not isinstance(entry, Mapping):
        yield f"must be a table, got {entry!r}"
        return
    for key in _TEXTS:
        if not _is_text(entry.get(key)):
            yield f"{key!r} must be text that is not blank, got {entry.get(key)!r}"
    if unknown := sorted(set(entry) - set(_TEXTS) - _OPTIONAL):
        yield f"unknown keys {unknown}; known are {sorted({*_TEXTS, *_OPTIONAL})}"
    if _is_text(entry.get("id")) and not _ID.fullmatch(entry["id"]):
        yield f"'id' must match {_ID.pattern}, got {entry['id']!r}"
    if _is_text(entry.get("path")):
        yield from _check_path(entry["path"])
    yield from _check_options(entry)


def _check_path(path: str) -> Iterator[str]:
    segments = path.split("/")[1:]
    # A path may be shown as a link: nothing in it may lead out of the product.
    if not path.startswith("/") or not all(_SEGMENT.fullmatch(part) for part in segments if path != "/"):
        yield f"'path' must look like '/orders/:orderId', got {path!r}"
    names = [part for part in segments if part.startswith(":")]
    if len(set(names)) != len(names):
        yield f"'path' names an id twice: {path!r}"


def _check_options(entry: Mapping[str, object]) -> Iterator[str]:
    for key, known in _CHOICES.items():
        if entry.get(key, known[0]) not in known:
            yield f"{key!r} must be one of {', '.join(known)}, got {entry[key]!r}"
    if "group" in entry and not _is_text(entry["group"]):
        yield f"'group' must be text that is not blank, got {entry['group']!r}"
    synonyms = entry.get("synonyms", [])
    if not isinstance(synonyms, list) or not all(_is_text(synonym) for synonym in synonyms):
        yield f"'synonyms' must be a list of texts, got {synonyms!r}"


def _is_text(entry: object) -> bool:
    return isinstance(entry, str) and bool(entry.strip())


def _build_route(entry: Mapping[str, object]) -> ProductRoute:
    synonyms = cast("Sequence[str]", entry.get("synonyms", ()))
    return ProductRoute(
        route_id=str(entry["id"]),
        label=str(entry["label"]).strip(),
        path=str(entry["path"]),
        synonyms=tuple(synonym.strip() for synonym in synonyms),
        scope=cast("RouteScope", entry.get("scope", "global")),
        visibility=cast("Visibility", entry.get("visibility", "primary")),
        group=str(entry["group"]) if "group" in entry else None,
    )
