"""Messages as the strict Bedrock server streams them."""

from tests.strict.replies import (
    Drop,
    Event,
    Failure,
    Finish,
    Item,
    Json,
    Raw,
    Reply,
    Stall,
    Stream,
    Then,
)

__all__ = ["Drop", "Event", "Failure", "Finish", "Item", "Json", "Raw", "Reply", "Stall", "Stream", "Then"]

USAGE: Json = {
    "inputTokens": 11,
    "outputTokens": 42,
    "totalTokens": 53,
    "cacheReadInputTokens": 300,
    "cacheWriteInputTokens": 20,
}
EXCEPTION = "exception:"
"""Before an event's name: it is an exception of the stream."""


def text(*deltas: str) -> list[Json]:
    """Words; a block of them has no start."""
    return [{"delta": {"text": delta}} for delta in deltas]


def tool(*parts: str, call_id: str = "tooluse_1", name: str = "search_docs") -> list[Json]:
    """A tool call whose input arrives as pieces of JSON."""
    start: Json = {"start": {"toolUse": {"toolUseId": call_id, "name": name}}}
    return [start, *({"delta": {"toolUse": {"input": part}}} for part in parts)]


def reasoning(words: str = "Let me see.", *, signature: str = "sig-1") -> list[Json]:
    """A thought; a blank signature is one that was cut off."""
    signed: list[Json] = [{"delta": {"reasoningContent": {"signature": signature}}}] if signature else []
    return [{"delta": {"reasoningContent": {"text": words}}}, *signed]


def redacted(encoded: str = "c2VjcmV0") -> list[Json]:
    """A thought that nobody may read, in base64."""
    return [{"delta": {"reasoningContent": {"redactedContent": encoded}}}]


def message(*blocks: list[Json], stop: str = "end_turn", usage: Json = USAGE) -> tuple[Event, ...]:
    """A whole message, from messageStart to metadata."""
    events = [Event("messageStart", {"role": "assistant"})]
    for index, block in enumerate(blocks):
        for part in block:
            name = "contentBlockStart" if "start" in part else "contentBlockDelta"
            events.append(Event(name, {"contentBlockIndex": index, **part}))
        events.append(Event("contentBlockStop", {"contentBlockIndex": index}))
    events.append(Event("messageStop", {"stopReason": stop}))
    events.append(Event("metadata", {"usage": usage, "metrics": {"latencyMs": 12}}))
    return tuple(events)


def exception(kind: str) -> Event:
    """An exception in mid-stream, under a status that was 200."""
    return Event(EXCEPTION + kind, {"message": "about the prompt"})
