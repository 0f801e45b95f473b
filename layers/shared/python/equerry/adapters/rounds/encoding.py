"""What a thread and a prompt must be before any provider takes them."""

import json
from collections.abc import Iterable, Sequence

from equerry.engine.messages import Block, Message, OpaqueBlock, ToolResultBlock
from equerry.engine.model import ModelRequest
from equerry.engine.thread import Thread

CACHE_FLOOR_CHARACTERS = 2048
"""About 512 tokens, the smallest prefix that any of the models caches; a mark below it does nothing."""


def list_messages(thread: Thread, *, provider: str) -> list[Message]:
    """Return the messages as `provider` may read them: its own state alone, and still legal without the rest.

    Roles alternate: a message that held nothing else is left out, and what it kept apart is joined. Results
    come first in their message, because a call is answered before anything else is said.
    """
    kept: list[Message] = []
    for message in thread.messages:
        blocks = tuple(block for block in message.blocks if is_own(block, provider))
        if not blocks:
            continue
        if kept and kept[-1].role == message.role:
            kept[-1] = Message(message.role, _order((*kept[-1].blocks, *blocks)))
        else:
            kept.append(Message(message.role, _order(blocks)))
    return kept


def is_own(block: Block, provider: str) -> bool:
    """Whether `provider` may read the block: everything but another one's state."""
    return not isinstance(block, OpaqueBlock) or block.provider == provider


def is_worth_caching(request: ModelRequest) -> bool:
    """Whether the prefix that ends with the stable instructions is long enough for any cache."""
    tools = sum(len(json.dumps(tool.input_schema)) + len(tool.description) for tool in request.tools)
    stable = request.prompt.stable
    return bool(stable.strip()) and len(stable) + tools >= CACHE_FLOOR_CHARACTERS


def _order(blocks: Sequence[Block]) -> tuple[Block, ...]:
    results: Iterable[Block] = (block for block in blocks if isinstance(block, ToolResultBlock))
    rest: Iterable[Block] = (block for block in blocks if not isinstance(block, ToolResultBlock))
    return (*results, *rest)
