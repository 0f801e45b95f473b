"""A streamed completion on the wire: NDJSON, one frame a line, of which `result` or `error` is the last.

Imports nothing heavy: a caller waits for the first frame.
"""

import json
from collections.abc import Iterator
from typing import Any

from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.engine.model import ArgumentsDelta, ThinkingDelta
from equerry.engine.model_text import cut_half, replace_halves
from equerry.services.completion import Completion, CompletionEvent, CompletionStarted
from equerry.surfaces.completion import encode_completion

CONTENT_TYPE = "application/x-ndjson"
THINKING_EVERY_S = 0.5
OUTPUT_EVERY_S = 0.25
PING_AFTER_S = 15.0
_EVERY_S = {"thinking": THINKING_EVERY_S, "output": OUTPUT_EVERY_S}

Frame = dict[str, Any]


class FramePacer:
    """Turns what a model says into frames, each kind no oftener than it may; the result holds the rest."""

    def __init__(self, now_s: float) -> None:
        self._waiting = {"thinking": "", "output": ""}
        self._sent_s: dict[str, float] = {}
        self._last_s = now_s

    def take(self, event: CompletionEvent | None, now_s: float) -> Iterator[Frame]:
        """Yield the frames that are due, with None for no news; without any for long enough, a ping."""
        if isinstance(event, ThinkingDelta):
            self._waiting["thinking"] += event.text
        elif isinstance(event, ArgumentsDelta):
            self._waiting["output"] += event.text
        for kind, every_s in _EVERY_S.items():
            (text, half), sent_s = cut_half(self._waiting[kind]), self._sent_s.get(kind)
            if text and (sent_s is None or now_s - sent_s >= every_s):
                self._waiting[kind] = half
                self._sent_s[kind] = self._last_s = now_s
                yield {"type": kind, "text": replace_halves(text)}
        if now_s - self._last_s >= PING_AFTER_S:
            self._last_s = now_s
            yield {"type": "ping"}


def start_frame(request: CompletionRequest, started: CompletionStarted) -> Frame:
    """Return what leaves before the provider is asked."""
    model = started.model
    return {
        "type": "start",
        "requestId": request.request_id,
        "provider": model.provider,
        "model": model.model,
    }


def result_frame(request: CompletionRequest, completion: Completion) -> Frame:
    """Return the last frame of a success: what the function that waits would answer."""
    return {"type": "result", **encode_completion(request, completion)}


def error_frame(refusal: CompletionRefused) -> Frame:
    """Return the last frame of a failure."""
    return {"type": "error", "status": refusal.status, "code": refusal.code, "detail": str(refusal)}


def encode_frame(frame: Frame) -> bytes:
    """Return a frame as a line."""
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
