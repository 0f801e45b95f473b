"""Plays one case and keeps what is judged."""

from contextlib import closing
from dataclasses import dataclass

from equerry.engine.messages import ToolCallBlock
from equerry.engine.model import ModelRequest, RoundEnd, RoundStop, TextDelta, ToolCallReady
from equerry.kernel.kinds import result
from equerry.ports.model import ModelPort


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedCase:
    """One round, as it came.

    Attributes:
        metered: whether the provider told what it took.
    """

    text: str
    calls: tuple[ToolCallBlock, ...]
    stop: RoundStop
    metered: bool
    output_tokens: int


def play_case(model: ModelPort, request: ModelRequest) -> PlayedCase:
    """Ask once.

    Raises:
        EquerryError: whatever the model failed with; how a provider is today says nothing of its model.
    """
    text, calls, end = "", list[ToolCallBlock](), None
    with closing(model.stream(request)) as events:
        for event in events:
            if isinstance(event, TextDelta):
                text += event.text
            elif isinstance(event, ToolCallReady):
                calls.append(event.call)
            elif isinstance(event, RoundEnd):
                end = event
    if end is None:
        raise ValueError("the model's stream ended without its end")
    return PlayedCase(
        text=text,
        calls=tuple(calls),
        stop=end.stop,
        metered=end.metered,
        output_tokens=end.usage.output_tokens,
    )
