"""The person's own words, found again among all that a prompt puts around them."""

from equerry.domain.fencing import find_fenced, unfence
from equerry.engine.messages import Message, TextBlock, ToolResultBlock
from equerry.engine.thread import Thread


def read_question(message: Message) -> str:
    """Return the person's words in a message without their fence; blank where only tools or the model speak.

    A fence of kind "user" wins; without one it is the last text, unless the message answers tools.
    """
    if message.role != "user":
        return ""
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    for text in reversed(texts):
        if (words := find_fenced(text, kind="user")) is not None:
            return words
    answers_tools = any(isinstance(block, ToolResultBlock) for block in message.blocks)
    return "" if answers_tools or not texts else unfence(texts[-1])


def list_questions(thread: Thread) -> tuple[str, ...]:
    """Return the person's turns of a conversation, oldest first."""
    return tuple(words for message in thread.messages if (words := read_question(message)))
