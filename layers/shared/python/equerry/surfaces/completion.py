"""Structured completions on the wire: the invocation's payload in, its answer or its error out."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from equerry.kernel.errors import EquerryError, InvalidInput, TooLarge, Unavailable
from equerry.ports.model import ModelRejected
from equerry.services.completion import Completion, CompletionRequest

MOST_INPUT_CHARACTERS = 400_000
MOST_INSTRUCTION_CHARACTERS = 50_000
MOST_TOKENS = 16_384

_FIELDS = frozenset({"instructions", "input", "maxTokens"})
_STATUS: tuple[tuple[type[EquerryError], int], ...] = (
    (InvalidInput, 400),
    (TooLarge, 413),
    (ModelRejected, 502),
    (Unavailable, 503),
)
_Answer = TypeVar("_Answer")


class StructuredCompletionRequestError(Exception):
    """What the invoker sees: the class's name as errorType, "[status code] message" as errorMessage."""


def decode_request(event: object) -> CompletionRequest:
    """Read an invocation's payload; what it says is never repeated in an error.

    Raises:
        InvalidInput: not an object, an unknown field, or one of another type or range.
        TooLarge: more characters than allowed.
    """
    if not isinstance(event, Mapping):
        raise InvalidInput("the payload must be a JSON object with the field 'input'")
    if unknown := sorted(str(name)[:40] for name in event if name not in _FIELDS):
        raise InvalidInput(f"unknown field {unknown[0]!r}; allowed are {', '.join(sorted(_FIELDS))}")
    input_text = _read_text(event.get("input"), "input", most=MOST_INPUT_CHARACTERS)
    if not input_text.strip():
        raise InvalidInput("input must not be blank", field="input")
    return CompletionRequest(
        input_text=input_text,
        instructions=_read_text(
            event.get("instructions") or "", "instructions", most=MOST_INSTRUCTION_CHARACTERS
        ),
        max_tokens=_read_max_tokens(event.get("maxTokens", 1024)),
    )


def encode_completion(completion: Completion) -> dict[str, Any]:
    """Return the invocation's answer."""
    usage = completion.usage
    return {
        "text": completion.text,
        "stopReason": completion.stop,
        "usage": {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cachedInputTokens": usage.cached_input_tokens,
            "cacheWriteTokens": usage.cache_write_tokens,
            "reasoningTokens": usage.reasoning_tokens,
        },
        "model": {"provider": completion.model.provider, "model": completion.model.model},
    }


def respond(work: Callable[[], _Answer]) -> _Answer:
    """Do `work`; a foreseen failure is raised as the invoker is promised it, a bug passes through.

    Raises:
        StructuredCompletionRequestError: see there.
    """
    try:
        return work()
    except EquerryError as failure:
        for family, status in _STATUS:
            if isinstance(failure, family):
                raise StructuredCompletionRequestError(f"[{status} {failure.code}] {failure}") from None
        raise


def _read_text(entry: object, name: str, *, most: int) -> str:
    if not isinstance(entry, str):
        raise InvalidInput(f"{name} must be a string", field=name)
    if len(entry) > most:
        raise TooLarge(f"{name} must have at most {most} characters, got {len(entry)}")
    return entry


def _read_max_tokens(entry: object) -> int:
    if not isinstance(entry, int) or isinstance(entry, bool) or not 1 <= entry <= MOST_TOKENS:
        raise InvalidInput(f"maxTokens must be a whole number from 1 to {MOST_TOKENS}", field="maxTokens")
    return entry
