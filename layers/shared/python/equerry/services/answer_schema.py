"""The caller's JSON Schema: what it must be before a model is asked, and whether the answer fits."""

import json
from collections.abc import Mapping

from equerry.domain.completion import MOST_OUTPUT_BYTES, CompletionRefused
from equerry.engine.schema_bounds import SchemaRefused
from equerry.engine.schemas import AnswerSchema, parse_schema


def compile_schema(schema: Mapping[str, object]) -> AnswerSchema:
    """Return what judges answers; nothing that the schema refers to is ever fetched.

    Raises:
        CompletionRefused: no JSON Schema 2020-12, a reference that leads out of it, or one that cannot be run
            within bounds.
    """
    try:
        return parse_schema(dict(schema))
    except SchemaRefused as refusal:
        raise CompletionRefused("invalid_request", f"jsonSchema: {refusal}") from None


def check_answer(schema: AnswerSchema, answer: object) -> None:
    """Return if an answer may be handed to the caller; a reason names the schema's parts, not the answer's.

    Raises:
        CompletionRefused: it is too large, no JSON, or not of the schema.
    """
    try:
        size = len(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, TypeError, RecursionError):
        raise CompletionRefused("completion_failed", "the model's answer cannot be judged as JSON") from None
    if size > MOST_OUTPUT_BYTES:
        raise CompletionRefused(
            "completion_failed", f"the model's answer has {size} bytes and may have {MOST_OUTPUT_BYTES}"
        )
    if problem := schema.find_problem(answer):
        raise CompletionRefused("completion_failed", f"the model's answer does not fit jsonSchema: {problem}")
