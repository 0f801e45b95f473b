"""A conversation as the model sees it, kept legal for every provider."""

from dataclasses import dataclass

from equerry.engine.messages import Block, Message, TextBlock, ToolResultBlock
from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True)
class Thread:
    """Messages, oldest first.

    Always: roles alternate and the first is the user's; every tool call is answered, in order, by the
    message that follows it. The last message may hold calls that still wait for their results.
    """

    messages: tuple[Message, ...] = ()

    def __post_init__(self) -> None:
        for index, message in enumerate(self.messages):
            expected = "user" if index % 2 == 0 else "assistant"
            if message.role != expected:
                raise ValueError(f"message {index} must be the {expected}'s, got {message.role}")
            self._check_results(index, message)

    def _check_results(self, index: int, message: Message) -> None:
        asked = [call.call_id for call in self.messages[index - 1].tool_calls] if index else []
        given = [block.call_id for block in message.blocks if isinstance(block, ToolResultBlock)]
        if asked != given:
            raise ValueError(f"message {index} answers tool calls {given!r}, but {asked!r} were asked")

    def say(self, text: str) -> "Thread":
        """Add the person's words; joins a user message that is already last."""
        return self._add("user", (TextBlock(text),))

    def answer(self, *blocks: Block) -> "Thread":
        """Add the model's blocks of one round."""
        return self._add("assistant", blocks)

    def resolve(self, *results: ToolResultBlock) -> "Thread":
        """Add the results of the last message's tool calls, in the order they were asked."""
        return self._add("user", results)

    def _add(self, role: str, blocks: tuple[Block, ...]) -> "Thread":
        if self.messages and self.messages[-1].role == role:
            joined = Message(self.messages[-1].role, self.messages[-1].blocks + blocks)
            return Thread((*self.messages[:-1], joined))
        return Thread((*self.messages, Message("user" if role == "user" else "assistant", blocks)))
