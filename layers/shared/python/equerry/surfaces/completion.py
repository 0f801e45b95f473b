"""Structured completions on the wire: the invocation's payload in, its answer or its error out.

Imports nothing heavy: a streaming caller waits for it.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from equerry.domain import completion as limits
from equerry.domain.completion import CompletionRefused, CompletionRequest
from equerry.services.completion import Completion
from equerry.surfaces.completion_inputs import read_documents, read_images
from equerry.surfaces.completion_reading import fields_of, invalid, read_string

_FIELDS = (
    *("protocolVersion", "requestId", "workload", "organisationId", "system", "prompt"),
    *("jsonSchema", "schemaName", "images", "documents", "modelProfile"),
)
_OPTIONAL = frozenset({"organisationId", "images", "documents", "modelProfile"})
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{limits.MOST_NAME_CHARS - 1}}}")


class StructuredCompletionRequestError(Exception):
    """What the invoker sees: the class's name as errorType, "[status code] detail" as errorMessage."""

    def __init__(self, refusal: CompletionRefused) -> None:
        super().__init__(f"[{refusal.status} {refusal.code}] {refusal}")


def decode_request(event: object, *, hosts: Collection[str]) -> CompletionRequest:
    """Read an invocation's payload.

    Args:
        hosts: where documents may be.

    Raises:
        CompletionRefused: with a code of the request's; the detail repeats nothing of what it held.
    """
    given = fields_of(event, _FIELDS, optional=_OPTIONAL, what="the payload")
    version = given["protocolVersion"]
    if isinstance(version, bool) or version != limits.PROTOCOL_VERSION:
        raise invalid(f"protocolVersion must be {limits.PROTOCOL_VERSION}")
    return CompletionRequest(
        request_id=_read_uuid(given["requestId"], "requestId"),
        workload=_read_name(given["workload"], "workload"),
        organisation_id=_read_optional_uuid(given.get("organisationId"), "organisationId"),
        system=_read_text(given["system"], "system", most=limits.MOST_SYSTEM_BYTES),
        prompt=_read_prompt(given["prompt"]),
        json_schema=_read_schema(given["jsonSchema"]),
        schema_name=_read_name(given["schemaName"], "schemaName"),
        images=read_images(given["images"]) if "images" in given else (),
        documents=read_documents(given["documents"], hosts=hosts) if "documents" in given else (),
        model_profile=read_string(given["modelProfile"], "modelProfile") if "modelProfile" in given else None,
    )


def encode_completion(request: CompletionRequest, completion: Completion) -> dict[str, Any]:
    """Return the invocation's answer."""
    usage = completion.usage
    counts = {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}
    if usage.cached_input_tokens:
        counts["cacheReadTokens"] = usage.cached_input_tokens
    return {
        "protocolVersion": limits.PROTOCOL_VERSION,
        "requestId": request.request_id,
        "output": completion.output,
        "provider": completion.model.provider,
        "model": completion.model.model,
        "durationMs": completion.duration_ms,
        "usage": counts,
    }


def _read_uuid(entry: object, name: str) -> str:
    text = read_string(entry, name)
    if not _UUID.fullmatch(text):
        raise invalid(f"{name} must be a UUID")
    return text


def _read_optional_uuid(entry: object, name: str) -> str | None:
    return None if entry is None else _read_uuid(entry, name)


def _read_name(entry: object, name: str) -> str:
    text = read_string(entry, name)
    if not _NAME.fullmatch(text):
        raise invalid(
            f"{name} must be 1 to {limits.MOST_NAME_CHARS} of A-Z, a-z, 0-9, '.', '_', ':', '-',"
            " beginning with a letter or digit"
        )
    return text


def _read_text(entry: object, name: str, *, most: int) -> str:
    text = read_string(entry, name)
    if (size := len(text.encode())) > most:
        raise invalid(f"{name} must be at most {most} bytes of UTF-8, got {size}")
    return text


def _read_prompt(entry: object) -> str:
    text = _read_text(entry, "prompt", most=limits.MOST_PROMPT_BYTES)
    if not text.strip():
        raise invalid("prompt must not be blank")
    return text


def _read_schema(entry: object) -> Mapping[str, object]:
    if not isinstance(entry, Mapping):
        raise invalid("jsonSchema must be an object")
    try:
        size = len(json.dumps(entry, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())
    except (ValueError, TypeError, RecursionError):
        raise invalid("jsonSchema must be plain JSON") from None
    if size > limits.MOST_SCHEMA_BYTES:
        raise invalid(f"jsonSchema must be at most {limits.MOST_SCHEMA_BYTES} bytes of UTF-8, got {size}")
    if entry.get("type", "object") != "object":
        raise invalid("jsonSchema must describe an object at its root")
    return entry
