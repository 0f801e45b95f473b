"""Every way in which a structured completion is refused, by the code that its caller is told.

One table for both functions: each case is provoked through `Invoke` on the local stack, and through
`InvokeWithResponseStream` before our runtime client.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from equerry.domain.completion import MOST_OUTPUT_BYTES, STATUSES, CompletionCode

from tests.completions import ANSWER, HOST, JPEG, PNG, SCHEMA, document, image, payload
from tests.strict import anthropic_events as wire
from tests.strict.replies import Drop, Failure, Json, Reply, Stall, Stream

MIB = 1024 * 1024
MODEL = "claude-test-1"
DEADLINE_S = 5.0
"""Short of what a second attempt would need, so that a failing provider is asked once and not left alone."""
EMITTED = Stream(wire.message(wire.tool(json.dumps(ANSWER), name="emit"), stop="tool_use"))
PROFILES = {
    "blind": {"reasoning": "low", "arms": [{"provider": "codex"}]},
    "unread": {"reasoning": "low", "arms": [{"provider": "openai"}]},
}
_CASE = re.compile(r"case:([a-z-]+)")


def list_variables(url: str, secret: str) -> dict[str, str]:
    """Return how the function is configured; `unread` and `blind` are profiles of models that read less."""
    return {
        "MODEL_PROVIDER": "anthropic",
        "MODEL_ID": MODEL,
        "MODEL_BASE_URL": url,
        "MODEL_SECRET_ARN": secret,
        "MODEL_ALLOWED": "codex/a-model,openai/a-model",
        "MODEL_SECRETS": f"codex={secret},openai={secret}",
        "BLIND_MODEL_ID": "a-model",
        "UNREAD_MODEL_ID": "a-model",
        "STRUCTURED_COMPLETION_PROFILES": json.dumps(PROFILES),
        "STRUCTURED_COMPLETION_DOCUMENT_HOSTS": HOST,
        "STRUCTURED_COMPLETION_DEADLINE_MILLISECONDS": f"{DEADLINE_S * 1000:.0f}",
    }


@dataclass(frozen=True, slots=True)
class Case:
    """A request that gets no answer.

    Attributes:
        reply: what the provider does, if it is asked at all.
        said: what stands in the detail, where a code has several reasons.
        variables: of the function's environment, besides the usual.
    """

    name: str
    code: CompletionCode
    event: Any
    reply: Reply = EMITTED
    said: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return STATUSES[self.code]


def ask(name: str, code: CompletionCode, reply: Reply | tuple[Any, ...], said: str = "") -> Case:
    """A request that nothing is wrong with, and a provider with which something is."""
    stream = Stream(reply) if isinstance(reply, tuple) else reply
    return Case(name, code, payload(prompt=f"case:{name}"), stream, said)


def emit(*calls: str, stop: str = "tool_use") -> tuple[Any, ...]:
    return wire.message(
        *(wire.tool(call, call_id=f"t{n}", name="emit") for n, call in enumerate(calls)), stop=stop
    )


def of(characters: int) -> dict[str, Any]:
    """An image of so many characters of base64."""
    return image(PNG + b"\0" * (characters // 4 * 3 - len(PNG)))


_ABSENT = "arn:aws:secretsmanager:eu-central-1:111111111111:secret:absent-AbCdEf"
_LARGE = json.dumps({"city": "x" * MOST_OUTPUT_BYTES})
CASES = (
    Case("no-object", "invalid_request", []),
    Case("unknown-field", "invalid_request", payload(model="claude-x")),
    Case("other-version", "invalid_request", payload(protocolVersion=2)),
    Case("unknown-profile", "invalid_request", payload(modelProfile="absent"), said="modelProfile"),
    Case("blank-prompt", "invalid_request", payload(prompt=" "), said="prompt"),
    Case("long-prompt", "invalid_request", payload(prompt="x" * (512 * 1024 + 1)), said="524288"),
    Case("no-schema", "invalid_request", payload(jsonSchema={**SCHEMA, "required": 1}), said="jsonSchema"),
    Case(
        "foreign-schema", "invalid_request", payload(jsonSchema={"$ref": "https://example.com"}), said="$ref"
    ),
    Case("no-base64", "invalid_request", payload(images=[{**image(), "data": "data:;base64,AA=="}])),
    Case("many-images", "too_many_images", payload(images=[image()] * 9)),
    Case("many-documents", "too_many_documents", payload(documents=[document()] * 21)),
    Case(
        "other-host", "document_url_not_allowed", payload(documents=[document("https://example.com/a.pdf")])
    ),
    Case("large-image", "image_too_large", payload(images=[of(4 * MIB + 4)])),
    Case("large-images", "images_too_large", payload(images=[of(3 * MIB), of(2 * MIB)])),
    Case("other-image", "unsupported_media_type", payload(images=[image(JPEG)])),
    Case("no-pdf", "unsupported_media_type", payload(documents=[document(mediaType="text/html")])),
    Case("blind", "image_input_unsupported", payload(images=[image()], modelProfile="blind")),
    Case("unread", "documents_unsupported", payload(documents=[document()], modelProfile="unread")),
    ask("refused", "completion_failed", Failure(400, "invalid_request_error"), "HTTP 400"),
    ask("throttled", "completion_failed", Failure(429, "rate_limit_error"), "HTTP 429"),
    ask("overloaded", "completion_failed", Failure(529, "overloaded_error"), "HTTP 529"),
    ask("in-band", "completion_failed", (*EMITTED.items[:4], wire.error("overloaded_error")), "mid-stream"),
    ask("dropped", "completion_failed", (*EMITTED.items[:4], Drop())),
    ask("cut-off", "completion_failed", emit('{"city": "Bre', stop="max_tokens"), "cut off by the allowance"),
    ask("declined", "completion_failed", wire.message(wire.text("No."), stop="refusal"), "declined"),
    ask("no-answer", "completion_failed", wire.message(wire.text("Bremen.")), "0 answers"),
    ask("two-answers", "completion_failed", emit('{"city": "A"}', '{"city": "B"}'), "2 answers"),
    ask("unreadable", "completion_failed", emit('{"city": "Bre')),
    ask("unfitting", "completion_failed", emit('{"city": 3}'), "does not fit jsonSchema"),
    ask("large-answer", "completion_failed", emit(_LARGE), "may have 5242880"),
    ask("late", "deadline_exceeded", (*EMITTED.items[:3], Stall(120))),
    Case("off", "disabled", payload(), variables={"STRUCTURED_COMPLETIONS_ENABLED": "false"}),
    Case("no-key", "completion_failed", payload(), variables={"MODEL_SECRET_ARN": _ABSENT}),
)


def choose(body: Json) -> Reply:
    """Play the provider: what the prompt says decides what goes wrong."""
    found = _CASE.search(json.dumps(body["messages"][-1]))
    return next((case.reply for case in CASES if found and case.name == found[1]), EMITTED)
