"""How many tokens text has, where no provider has counted it: rather too many than too few."""

import json
from collections.abc import Iterable

from equerry.engine.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ToolCallBlock,
)
from equerry.engine.model import Prompt, ToolSpec
from equerry.engine.thread import Thread

BYTES_A_TOKEN = 3
"""English has about four and a half, Chinese three: a budget is better charged a little too much."""
IMAGE_TOKENS = 1_600
"""What the largest picture costs that providers do not scale down."""
DOCUMENT_TOKENS = 30_000
"""A dozen pages, each as text and as a picture: nobody has seen the document yet."""


def estimate_text(text: str) -> int:
    """Return the tokens of words."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_A_TOKEN)


def estimate_instructions(prompt: Prompt, tools: Iterable[ToolSpec]) -> int:
    """Return the input tokens that every round of a run has."""
    described = sum(
        estimate_text(tool.name)
        + estimate_text(tool.description)
        + estimate_text(json.dumps(tool.input_schema))
        for tool in tools
    )
    return estimate_text(prompt.stable) + estimate_text(prompt.dynamic) + described


def estimate_thread(thread: Thread) -> int:
    """Return the input tokens of a conversation."""
    return sum(estimate_blocks(message.blocks) for message in thread.messages)


def estimate_blocks(blocks: Iterable[Block]) -> int:
    """Return the tokens of one side's contribution."""
    return sum(map(_estimate_block, blocks))


def _estimate_block(block: Block) -> int:
    match block:
        case TextBlock():
            return estimate_text(block.text)
        case ImageBlock():
            return IMAGE_TOKENS
        case DocumentBlock():
            return DOCUMENT_TOKENS
        case ToolCallBlock():
            return estimate_text(block.tool + json.dumps(block.arguments, default=str))
        case OpaqueBlock():
            return estimate_text(block.payload)
        case _:
            return estimate_text(block.content)
