"""What a model reads and writes: messages made of blocks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from equerry.kernel.identifiers import ToolCallId
from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True)
class TextBlock:
    """Words; never empty or blank, which several providers refuse."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a text block must not be blank")


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallBlock:
    """The model asks for a tool.

    Attributes:
        arguments: what it sent, not yet validated.
        problem: why what it sent cannot be read; the call is then answered with this and not run.
    """

    call_id: ToolCallId
    tool: str
    arguments: Mapping[str, object]
    problem: str | None = None


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultBlock:
    """What a tool answered; `content` is never blank."""

    call_id: ToolCallId
    content: str
    ok: bool = True


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueBlock:
    """A provider's own state (a reasoning signature), echoed to that provider only and read by no one."""

    provider: str
    payload: str


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBlock:
    """A picture of the person's; `content` is its bytes, already checked to be what `media_type` says."""

    media_type: Literal["image/png", "image/jpeg", "image/webp"]
    content: bytes = field(repr=False)


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBlock:
    """A PDF of the person's, which the provider downloads itself; `url` is a secret and in no log."""

    url: str = field(repr=False)
    title: str | None = None


SaidBlock = TextBlock | ImageBlock | DocumentBlock | ToolCallBlock | ToolResultBlock
"""What means the same to every provider."""
Block = SaidBlock | OpaqueBlock


@value
@dataclass(frozen=True, slots=True)
class Message:
    """One side's contribution; `blocks` is in order and never empty."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ValueError(f"a {self.role} message needs at least one block")

    @property
    def text(self) -> str:
        """The words alone, in order."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> tuple[ToolCallBlock, ...]:
        """The tools asked for, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCallBlock))
