"""How many tokens text has, where no provider has counted it: rather too many than too few."""

import json
from collections.abc import Iterable

from equerry.engine.messages import Block, OpaqueBlock, TextBlock, ToolCallBlock
from equerry.engine.model import ModelRequest

BYTES_A_TOKEN = 3
"""English has about four and a half, Chinese three: a budget is better charged a little too much."""


def estimate_request(request: ModelRequest) -> int:
    """Return the input tokens of one round."""
    prompt = _estimate(request.prompt.stable) + _estimate(request.prompt.dynamic)
    tools = sum(
        _estimate(spec.name) + _estimate(spec.description) + _estimate(json.dumps(spec.input_schema))
        for spec in request.tools
    )
    return prompt + tools + sum(estimate_blocks(message.blocks) for message in request.thread.messages)


def estimate_blocks(blocks: Iterable[Block]) -> int:
    """Return the tokens of a message, or of a round's output."""
    return sum(_estimate(_read(block)) for block in blocks)


def _read(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolCallBlock():
            return block.tool + json.dumps(block.arguments, default=str)
        case OpaqueBlock():
            return block.payload
        case _:
            return block.content


def _estimate(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN)
