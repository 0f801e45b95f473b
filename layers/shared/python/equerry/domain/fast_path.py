"""What a profile says of its fast path: the questions its assistant answers without asking a model."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from equerry.domain.corpora import parse_corpus_id
from equerry.kernel.errors import InvalidInput
from equerry.kernel.identifiers import CorpusId
from equerry.kernel.kinds import value

TAU_NAV = 0.8
"""A page is meant from here on: all its name's words, and next to no others."""
TAU_HOWTO = 0.6
"""A section answers from here on; derived for `score_section`, see bench/fast_path.py."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_KNOWN = {"catalogue", "help", "navigate_at", "how_to_at"}


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class FastPath:
    """Where a fast path finds its answers, and how sure it must be.

    Attributes:
        catalogue: name of the product's route catalogue; None: nobody is sent anywhere.
        help: corpora of help articles; none: no how-to question is answered.
        navigate_at, how_to_at: the least score, above 0 and at most 1.
    """

    catalogue: str | None = None
    help: tuple[CorpusId, ...] = ()
    navigate_at: float = TAU_NAV
    how_to_at: float = TAU_HOWTO


def check_fast_path(data: object) -> Iterator[str]:
    """Yield every problem of a profile's `fast_path`; None, its absence, has none."""
    if data is None:
        return
    if not isinstance(data, Mapping):
        yield f"'fast_path' must be a table, got {data!r}"
        return
    if unknown := sorted(set(data) - _KNOWN):
        yield f"fast_path: unknown keys {unknown}; known are {sorted(_KNOWN)}"
    if not set(data) & {"catalogue", "help"}:
        yield "fast_path: must name a 'catalogue', 'help' corpora, or both"
    catalogue = data.get("catalogue")
    if catalogue is not None and not (isinstance(catalogue, str) and _NAME.fullmatch(catalogue)):
        yield f"fast_path: 'catalogue' must match {_NAME.pattern}, got {catalogue!r}"
    yield from _check_help(data.get("help", []))
    for key in ("navigate_at", "how_to_at"):
        least = data.get(key, 1)
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 < least <= 1:
            yield f"fast_path: {key!r} must be above 0 and at most 1, got {least!r}"


def read_fast_path(data: object) -> FastPath | None:
    """Build what `check_fast_path` has no problem with."""
    if not isinstance(data, Mapping):
        return None
    return FastPath(
        catalogue=data.get("catalogue"),
        help=tuple(parse_corpus_id(corpus) for corpus in data.get("help", [])),
        navigate_at=float(data.get("navigate_at", TAU_NAV)),
        how_to_at=float(data.get("how_to_at", TAU_HOWTO)),
    )


def _check_help(entries: object) -> Iterator[str]:
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        yield f"fast_path: 'help' must be a list of corpus ids, got {entries!r}"
        return
    for entry in entries:
        try:
            parse_corpus_id(entry)
        except InvalidInput as problem:
            yield f"fast_path: {problem}"
