"""A thread is legal for every provider, or it cannot be made."""

import pytest
from equerry.engine.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock
from equerry.engine.thread import Thread
from equerry.kernel.identifiers import ToolCallId


def asked(call_id: str = "c1") -> ToolCallBlock:
    return ToolCallBlock(call_id=ToolCallId(call_id), tool="t", arguments={})


def answered(call_id: str = "c1") -> ToolResultBlock:
    return ToolResultBlock(call_id=ToolCallId(call_id), content="r")


def test_two_messages_of_one_side_become_one() -> None:
    thread = Thread().say("first").say("second")

    assert len(thread.messages) == 1
    assert list(thread.messages[0].blocks) == [TextBlock("first"), TextBlock("second")]


def test_a_thread_cannot_begin_with_the_assistant() -> None:
    with pytest.raises(ValueError, match="message 0 must be the user's"):
        Thread().answer(TextBlock("hello"))


def test_every_call_is_answered_in_order_or_not_at_all() -> None:
    waiting = Thread().say("go").answer(asked("a"), asked("b"))

    assert waiting.resolve(answered("a"), answered("b")).messages[-1].role == "user"
    with pytest.raises(ValueError, match="answers tool calls"):
        waiting.resolve(answered("b"), answered("a"))
    with pytest.raises(ValueError, match="answers tool calls"):
        waiting.say("never mind")


def test_a_result_nobody_asked_for_is_refused() -> None:
    with pytest.raises(ValueError, match="answers tool calls"):
        Thread().say("go").answer(TextBlock("ok")).resolve(answered())


def test_blank_words_are_no_block_and_no_blocks_no_message() -> None:
    with pytest.raises(ValueError, match="blank"):
        TextBlock("  \n")
    with pytest.raises(ValueError, match="at least one block"):
        Message("user", ())
