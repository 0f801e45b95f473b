"""What one round brought, made fit to be sent back to any provider."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from equerry.engine.messages import Block, TextBlock, ToolCallBlock
from equerry.engine.model import ModelChoice, ModelEvent, OpaqueState, RoundEnd, TextDelta, ToolCallReady
from equerry.engine.model_text import has_unstorable
from equerry.kernel.identifiers import ToolCallId

MOST_ARGUMENT_BYTES = 64_000
"""Of one call's arguments as JSON; what is kept of a call is sent again in every later round."""
_MOST_NAME_CHARS = 64
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(slots=True)
class PlayedRound:
    """A round as it comes; one without an end was broken off.

    Attributes:
        model: who plays it, where the provider has said so.
    """

    blocks: list[Block] = field(default_factory=list)
    end: RoundEnd | None = None
    model: ModelChoice | None = None
    _words: list[str] = field(default_factory=list)

    def take(self, event: ModelEvent) -> None:
        """Take an event in; signs of life and thoughts leave nothing."""
        match event:
            case TextDelta(text):
                self._words.append(text)
            case ToolCallReady(call):
                self._add(call)
            case OpaqueState(block):
                self._add(block)
            case RoundEnd():
                self.end = self.end or event
                self.model = event.model or self.model

    def close(self, used: set[ToolCallId]) -> None:
        """Nothing more comes; `used` are the run's call ids so far, and grows."""
        self._close_words()
        earlier: list[ToolCallBlock] = []
        for place, block in enumerate(self.blocks):
            if isinstance(block, ToolCallBlock):
                self.blocks[place] = _mend(block, earlier, used)
                earlier.append(block)

    def begin_anew(self, model: ModelChoice) -> tuple[Block, ...]:
        """Throw away what has come, which is returned, and begin anew with `model`."""
        self._close_words()
        self.model = model
        discarded = tuple(self.blocks)
        self.blocks.clear()
        self.end = None
        return discarded

    @property
    def calls(self) -> tuple[ToolCallBlock, ...]:
        """The calls that may be executed: any other stop can leave half a call."""
        if self.end is None or self.end.stop != "tool_use":
            return ()
        return tuple(block for block in self.blocks if isinstance(block, ToolCallBlock))

    @property
    def kept(self) -> tuple[Block, ...]:
        """What belongs in the thread: never a call that no result will follow."""
        return tuple(self.blocks) if self.calls else tuple(b for b in self.blocks if isinstance(b, TextBlock))

    def _add(self, block: Block) -> None:
        self._close_words()
        self.blocks.append(block)

    def _close_words(self) -> None:
        words = "".join(self._words)
        if words.strip():
            self.blocks.append(TextBlock(words))
        self._words.clear()


def _mend(block: ToolCallBlock, earlier: Sequence[ToolCallBlock], used: set[ToolCallId]) -> ToolCallBlock:
    """Return the call as every provider takes it back; what was wrong with it stands in its `problem`."""
    flaw = _find_flaw(block)
    problem = block.problem or flaw or _find_repetition(block, earlier) or _find_misspelling(block)
    mended = ToolCallBlock(
        call_id=_choose_id(block.call_id, used),
        tool=_spell(block.tool),
        arguments={} if flaw else block.arguments,
        problem=problem,
    )
    used.add(mended.call_id)
    return mended


def _find_flaw(block: ToolCallBlock) -> str | None:
    arguments: object = block.arguments
    if not isinstance(arguments, Mapping):
        return f"The arguments must be a JSON object, got {type(arguments).__name__}."
    if not arguments:
        return None
    try:
        size = len(json.dumps(arguments, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError):
        return "The arguments cannot be written as JSON."
    if size > MOST_ARGUMENT_BYTES:
        return f"The arguments are {size:,} bytes of JSON and may be {MOST_ARGUMENT_BYTES:,} at most."
    return "The arguments must not hold the character U+0000." if has_unstorable(arguments) else None


def _find_repetition(block: ToolCallBlock, earlier: Sequence[ToolCallBlock]) -> str | None:
    return "Not run: the same call came twice under one id." if block in earlier else None


def _find_misspelling(block: ToolCallBlock) -> str | None:
    return None if _NAME.fullmatch(block.tool) else f"{block.tool[:_MOST_NAME_CHARS]!r} is no tool's name."


def _spell(tool: str) -> str:
    return tool if _NAME.fullmatch(tool) else _NOT_IN_A_NAME.sub("_", tool)[:_MOST_NAME_CHARS] or "unnamed"


def _choose_id(wanted: str, used: Container[str]) -> ToolCallId:
    """Return `wanted`, or something like it that no other call of the run has."""
    stem = _NOT_IN_A_NAME.sub("_", wanted)[:_MOST_NAME_CHARS] or "call"
    if stem not in used:
        return ToolCallId(stem)
    short = stem[: _MOST_NAME_CHARS - 4]
    return next(ToolCallId(f"{short}-{n}") for n in count(2) if f"{short}-{n}" not in used)
