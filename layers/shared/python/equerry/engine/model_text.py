"""What a model says, made fit for every store and reader before anyone takes it in."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from equerry.engine.model import ModelEvent, StillWorking, TextDelta, ThinkingDelta

_HALVES = re.compile("[\ud800-\udfff]")
_NUL = "\x00"


@dataclass(slots=True)
class TextMender:
    """Mends one round's words: no U+0000, and no half of a surrogate pair.

    Both can be written in JSON and in no store of ours. A server that cuts its stream between the halves of
    one character sends each half in a delta of its own.
    """

    _half: str = ""

    def mend(self, event: ModelEvent) -> Iterator[ModelEvent]:
        """Yield what is to be taken in for an event of the model's."""
        match event:
            case TextDelta(text):
                yield from _say(self._hold_half(self._half + text))
            case StillWorking() | ThinkingDelta():
                yield event
            case _:
                yield from _say(self._half)
                self._half = ""
                yield event

    def _hold_half(self, text: str) -> str:
        whole, self._half = cut_half(text)
        return whole


def cut_half(text: str) -> tuple[str, str]:
    """Return all but a first half at the end, and that half, whose other one may be on its way."""
    half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return text[: len(text) - len(half)], half


def replace_halves(text: str) -> str:
    """Join what was sent as two halves of one character, and put U+FFFD for a half that stands alone."""
    if not _HALVES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def has_unstorable(data: object) -> bool:
    """Whether JSON-like data of bounded depth holds U+0000 in a text or a name."""
    if isinstance(data, str):
        return _NUL in data
    if isinstance(data, Mapping):
        return any(has_unstorable(name) or has_unstorable(held) for name, held in data.items())
    return isinstance(data, list | tuple) and any(has_unstorable(held) for held in data)


def _say(text: str) -> Iterator[TextDelta]:
    text = replace_halves(text.replace(_NUL, ""))
    if text:
        yield TextDelta(text)
