"""Answers as the strict Gemini server streams them: one response after another, each with some parts."""

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
    "promptTokenCount": 331,
    "cachedContentTokenCount": 300,
    "candidatesTokenCount": 35,
    "thoughtsTokenCount": 7,
    "totalTokenCount": 373,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 331}],
}


def text(*deltas: str, signature: str | None = None) -> list[Event]:
    """Words; the signature is on the last piece."""
    last = {"thoughtSignature": signature} if signature else {}
    parts: list[Json] = [{"text": delta} for delta in deltas]
    return [_respond(part) for part in (*parts[:-1], {**parts[-1], **last})]


def thought(summary: str = "Let me see.") -> list[Event]:
    """A summary of thoughts."""
    return [_respond({"text": summary, "thought": True})]


def call(
    name: str = "search_docs",
    args: object = None,
    *,
    signature: str | None = None,
    call_id: str | None = None,
) -> list[Event]:
    """A call, which always comes whole."""
    made: Json = {"name": name, "args": {"query": "widgets"} if args is None else args}
    if call_id:
        made["id"] = call_id
    return [_respond({"functionCall": made, **({"thoughtSignature": signature} if signature else {})})]


def answer(*parts: list[Event], finish: str | None = "STOP", usage: Json = USAGE) -> tuple[Event, ...]:
    """A whole answer; its last response has no words and says why it finished."""
    end: Json = {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0}]}
    end["candidates"][0] |= {"finishReason": finish} if finish else {}
    return (*(event for part in parts for event in part), _event({**end, "usageMetadata": usage}))


def together(*parts: list[Event], finish: str = "STOP") -> tuple[Event, ...]:
    """The same in one response, as short answers come."""
    whole = [
        part for each in parts for event in each for part in event.data["candidates"][0]["content"]["parts"]
    ]
    content = {"role": "model", "parts": whole}
    candidate = {"content": content, "finishReason": finish, "index": 0}
    return (_event({"candidates": [candidate], "usageMetadata": USAGE}),)


def blocked(reason: str = "SAFETY") -> tuple[Event, ...]:
    """The prompt itself is filtered."""
    return (_event({"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 9}}),)


def error(kind: str = "UNAVAILABLE", code: int = 503) -> Event:
    """An error under a status that was 200."""
    return Event("error", {"error": {"code": code, "message": "about the prompt", "status": kind}})


def _respond(part: Json) -> Event:
    return _event({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]})


def _event(data: Json) -> Event:
    more = {"modelVersion": "gemini-test-3", "responseId": "resp_1"}
    return Event(
        "response", {**data, "usageMetadata": data.get("usageMetadata", {"promptTokenCount": 331}), **more}
    )
