"""Where in the product a person asks: hints for which record to read, and never for who may read it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps

from equerry.kernel.errors import InvalidInput, TooLarge
from equerry.kernel.kinds import value

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NAME = re.compile(r"[a-z][A-Za-z0-9]{0,62}")
_SEGMENT = re.compile(r"[\w.~-]+", re.ASCII)


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What a page says about itself.

    Attributes:
        route: the page's address within the product.
        ids: what is on the page, by name (`projectId`), each name once, by name.
    """

    route: str | None = None
    ids: tuple[tuple[str, str], ...] = ()

    def require_size(self, most_chars: int) -> None:
        """Raise TooLarge for more than `most_chars` characters in all."""
        chars = len(self.route or "") + sum(len(name) + len(text) for name, text in self.ids)
        if chars > most_chars:
            raise TooLarge(f"context must be at most {most_chars} characters, got {chars}")

    def find_id(self, name: str) -> str | None:
        """Return the id of that name."""
        return dict(self.ids).get(name)

    def to_data(self) -> dict[str, object]:
        """Return it as `read_context` reads it."""
        return {"route": self.route, "ids": dict(self.ids)}

    def to_text(self) -> str:
        """Return it on one line, for a model; whoever shows it puts it between fences."""
        shown = {} if self.route is None else {"route": self.route}
        return dumps(shown | dict(self.ids), ensure_ascii=False)


@value
@dataclass(frozen=True, slots=True)
class RoutePattern:
    """One kind of page, such as `/projects/{projectId}/estimates/{estimateId}/*`.

    Attributes:
        segments: words, or names in braces that stand for UUIDs.
        is_open: ended with `/*`: more segments may follow.
    """

    text: str
    segments: tuple[str, ...]
    is_open: bool

    def find_ids(self, route: str) -> dict[str, str] | None:
        """Return the UUIDs of a route of this kind, in lower case; None if it is of another kind."""
        given = _split(route)
        if len(given) < len(self.segments) or (len(given) > len(self.segments) and not self.is_open):
            return None
        found: dict[str, str] = {}
        for wanted, segment in zip(self.segments, given, strict=False):
            if wanted.startswith("{"):
                if not _UUID.fullmatch(segment):
                    return None
                found[wanted[1:-1]] = segment.lower()
            elif wanted != segment:
                return None
        return found


def parse_route_pattern(text: str) -> RoutePattern:
    """Read a pattern.

    Raises:
        InvalidInput: not of the form of `RoutePattern`, or a name stands in it twice.
    """
    is_open = text.endswith("/*")
    segments = tuple((text[:-2] if is_open else text).split("/"))
    names = [segment[1:-1] for segment in segments if segment.startswith("{")]
    fits = all(
        _NAME.fullmatch(segment[1:-1]) if segment[:1] + segment[-1:] == "{}" else _SEGMENT.fullmatch(segment)
        for segment in segments[1:]
    )
    if segments[0] or len(segments) == 1 or not fits or len(set(names)) != len(names):
        raise InvalidInput(f"a route must look like '/orders/{{orderId}}/*', got {text!r}", field="routes")
    return RoutePattern(text, segments[1:], is_open)


DEFAULT_ROUTES = tuple(
    parse_route_pattern(text)
    for text in ("/projects/{projectId}/estimates/{estimateId}/*", "/projects/{projectId}/estimate/*")
)


def derive_context(given: TurnContext, routes: Iterable[RoutePattern]) -> TurnContext:
    """Return `given` with the ids that its route holds, by the first of `routes` that fits it.

    What stands in the route goes before what was said beside it; nothing else is added or dropped.
    """
    if given.route is None:
        return given
    found = next((ids for each in routes if (ids := each.find_ids(given.route)) is not None), {})
    return TurnContext(route=given.route, ids=tuple(sorted({**dict(given.ids), **found}.items())))


def build_context(route: str | None, ids: Mapping[str, str | None]) -> TurnContext | None:
    """Return what was given, blanks left out; None if that is nothing."""
    kept = {name: text.strip() for name, text in ids.items() if text and text.strip()}
    route = route.strip() if route else None
    if not route and not kept:
        return None
    return TurnContext(route=route or None, ids=tuple(sorted(kept.items())))


def read_context(data: object) -> TurnContext | None:
    """Return a context as a store keeps it; None for nothing."""
    if not isinstance(data, Mapping):
        return None
    ids: Mapping[str, object] = data.get("ids") or {}
    route = data.get("route")
    return TurnContext(
        route=None if route is None else str(route),
        ids=tuple(sorted((str(name), str(text)) for name, text in ids.items())),
    )


def _split(route: str) -> Sequence[str]:
    """Return the segments of a path; none for what is no path. Query and fragment say nothing of records."""
    path = re.split(r"[?#]", route, maxsplit=1)[0]
    if not path.startswith("/"):
        return ()
    return path.rstrip("/").split("/")[1:]
