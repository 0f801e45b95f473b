"""Nothing that a caller sends, and no key, is in any line that either function writes, whoever answers."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.completing import Running, streaming, waiting
from tests.completions import HOST, PNG, SCHEMA, URL, document, image, payload
from tests.contract.models.subjects import KITS, Kit
from tests.contract.test_response_streaming import ARN, build_variables
from tests.strict import anthropic_events, bedrock_events, google_events, openai_events
from tests.strict.replies import Drop, Event, Failure, Item, Reply, Stall
from tests.strict.secrets_server import serve_secrets

PROMPT, SYSTEM, LABEL, TITLE = "canary-prompt", "canary-system", "canary-label", "canary-title"
WORDS, SAID, NAME = "canary-output", "canary-provider", "canary-field"
SIGNATURE, PATH, SECRET = "canary5ec7e7", "canary-path", "canary-aws-secret"
ADDRESS = URL.replace("5ec7e7", SIGNATURE).replace("plan.pdf", f"{PATH}.pdf")
PIXELS = PNG + b"canary-pixels-canary"
SENT = (PROMPT, SYSTEM, LABEL, TITLE, NAME, SIGNATURE, PATH, HOST, "canary-pixels")
CANARIES = (*SENT, b64encode(PIXELS).decode()[12:32], WORDS, SAID, SECRET)
WITHOUT = payload(prompt=PROMPT, system=SYSTEM, images=[image(PIXELS, label=LABEL)])
WITH = {**WITHOUT, "documents": [document(ADDRESS, title=TITLE)]}
FITS, DOES_NOT = json.dumps({"city": WORDS}), json.dumps({"city": 3, WORDS: WORDS})
HALF = '{"city": "' + WORDS
AMPLE_S, SHORT_S, LATE_S = 120.0, 8.0, 4.0
"""What an invocation has: 3 s are kept of it, and with 5 left a provider that fails is asked once."""
Replies = Mapping[str, Reply | tuple[Item, ...]]
Start = Callable[[Mapping[str, str], Path], AbstractContextManager[Running]]


@dataclass(frozen=True, slots=True)
class Voice:
    """What a provider says, with canaries in it, in its own words.

    Attributes:
        answered: the answer that was wanted.
        others: all that is none.
        failure: what it says in the middle of an answer.
        denied: of the key; it is left alone afterwards.
    """

    model: str
    answered: tuple[Event, ...]
    others: Replies
    failure: Event
    overloaded: Failure
    refused: Failure
    denied: Failure

    def list_replies(self) -> Replies:
        half = self.answered[: max(1, len(self.answered) - 3)]
        told = json.dumps(self.failure.data).replace("about the prompt", f"{SAID} {PROMPT} {ADDRESS}")
        return {
            **self.others,
            "refused": tell(self.refused),
            "overloaded": tell(self.overloaded),
            "no JSON": replace(self.refused, body=f"<p>{SAID} {PROMPT}".encode()),
            "in band": (*half, replace(self.failure, data=json.loads(told))),
            "dropped": (*half, Drop()),
            "no reply": Drop(),
        }


def tell(failure: Failure) -> Failure:
    return replace(failure, message=f"{SAID} {PROMPT} {ADDRESS} {SIGNATURE}")


def _speak_anthropic() -> Voice:
    wire = anthropic_events

    def emit(text: str) -> tuple[Event, ...]:
        return wire.message(wire.tool(text, name="emit"), stop="tool_use")

    return Voice(
        model="claude-test-1",
        answered=emit(FITS),
        others={
            "no answer": wire.message(wire.text(WORDS)),
            "cut off": wire.message(wire.text(WORDS), stop="max_tokens"),
            "declined": wire.message(wire.text(WORDS), stop="refusal"),
            "does not fit": emit(DOES_NOT),
            "unreadable": emit(HALF),
        },
        failure=wire.error("api_error"),
        overloaded=Failure(529, "overloaded_error"),
        refused=Failure(400, "invalid_request_error"),
        denied=Failure(401, "authentication_error"),
    )


def _speak_openai() -> Voice:
    wire = openai_events
    cut = wire.response(wire.text(WORDS), end="incomplete", reason="max_output_tokens")
    return Voice(
        model="gpt-test-1",
        answered=wire.response(wire.tool(FITS, name="emit")),
        others={
            "no answer": wire.response(wire.text(WORDS)),
            "cut off": cut,
            "declined": wire.response(wire.refusal(WORDS)),
            "does not fit": wire.response(wire.tool(DOES_NOT, name="emit")),
            "unreadable": wire.response(wire.tool(HALF, name="emit")),
        },
        failure=wire.error("server_error"),
        overloaded=Failure(503, "server_error"),
        refused=Failure(400, "invalid_prompt"),
        denied=Failure(401, "invalid_api_key"),
    )


def _speak_bedrock() -> Voice:
    wire = bedrock_events

    def emit(text: str) -> tuple[Event, ...]:
        return wire.message(wire.tool(text, name="emit"), stop="tool_use")

    return Voice(
        model="anthropic.claude-test-1",
        answered=emit(FITS),
        others={
            "no answer": wire.message(wire.text(WORDS)),
            "cut off": wire.message(wire.text(WORDS), stop="max_tokens"),
            "declined": wire.message(wire.text(WORDS), stop="guardrail_intervened"),
            "does not fit": emit(DOES_NOT),
            "unreadable": emit(HALF),
        },
        failure=wire.exception("serviceUnavailableException"),
        overloaded=Failure(503, "ServiceUnavailableException"),
        refused=Failure(400, "ValidationException"),
        denied=Failure(403, "AccessDeniedException"),
    )


def _speak_google() -> Voice:
    wire = google_events
    return Voice(
        model="gemini-test-3",
        answered=wire.answer(wire.text(FITS)),
        others={
            "no answer": wire.answer(wire.text(WORDS)),
            "cut off": wire.answer(wire.text(WORDS), finish="MAX_TOKENS"),
            "declined": wire.answer(wire.text(WORDS), finish="SAFETY"),
            "does not fit": wire.answer(wire.text(DOES_NOT)),
            "unreadable": wire.answer(wire.text(HALF)),
        },
        failure=wire.error(),
        overloaded=Failure(503, "UNAVAILABLE"),
        refused=Failure(400, "INVALID_ARGUMENT"),
        denied=Failure(401, "UNAUTHENTICATED"),
    )


VOICES = {
    "anthropic": _speak_anthropic(),
    "openai": _speak_openai(),
    "bedrock": _speak_bedrock(),
    "google": _speak_google(),
}
MALFORMED: Mapping[str, Any] = {
    "unknown field": {**WITH, NAME: PROMPT},
    "malformed": {**WITH, "requestId": PROMPT, "workload": PROMPT},
    "no image": {**WITH, "images": [image(PIXELS, "image/jpeg", label=LABEL)]},
    "another host": {**WITH, "documents": [document("https://x/" + ADDRESS)]},
    "no schema": {**WITH, "jsonSchema": {**SCHEMA, "required": NAME, "$comment": PROMPT}},
    "a profile": {**WITH, "modelProfile": NAME},
}
WRONG: Mapping[str, Mapping[str, str]] = {
    "off": {"STRUCTURED_COMPLETIONS_ENABLED": "false"},
    "no key": {"MODEL_SECRET_ARN": ARN + "x"},
    "a bug": {"STRUCTURED_COMPLETION_PROFILES": "{"},
}


@pytest.fixture(params=[waiting, streaming], ids=["waited", "streamed"])
def start(request: pytest.FixtureRequest) -> Start:
    """One of the two functions."""
    found: Start = request.param
    return found


@contextmanager
def behind(kit: Kit, start: Start, log: Path, **changes: str) -> Iterator[tuple[Running, Any]]:
    """The function with a provider's strict server behind it."""
    with kit.serve() as provider, serve_secrets({ARN: kit.key}) as aws:
        variables = build_variables(provider.url, aws) | {
            "MODEL_PROVIDER": kit.name,
            "MODEL_ID": VOICES[kit.name].model,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            **({"AWS_ACCESS_KEY_ID": kit.key} if kit.name == "bedrock" else {}),
        }
        with start(variables | changes, log) as running:
            yield running, provider
        assert provider.violations == []


def find_canaries(text: str, kit: Kit) -> list[str]:
    # What a request to AWS is signed with names the key's id, and is no secret.
    return [canary for canary in (*CANARIES, *([kit.key] if kit.name != "bedrock" else [])) if canary in text]


@pytest.mark.req("A-SCRS-05", "A-SCRS-14", "A-SCDO-11", "A-SC-01")
@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
def test_no_line_holds_what_was_sent_or_said(kit: Kit, start: Start, tmp_path: Path) -> None:
    voice, asked = VOICES[kit.name], WITH if kit.reads_documents else WITHOUT
    found: dict[str, list[str]] = {}
    silent: list[str] = []

    with behind(kit, start, tmp_path / "log") as (running, provider):

        def ask(case: str, event: object, time_s: float, reply: Reply | tuple[Item, ...] | None) -> str:
            provider.replies.clear()
            if reply is not None:
                provider.play(reply)
            told = running.ask(event, time_s)
            log = running.read_log()
            found[case] = find_canaries(log, kit) + (find_canaries(told, kit) if case != "answered" else [])
            # What happened is logged, so that silence is not taken for discretion.
            if "structured_completion" not in log:
                silent.append(case)
            return told

        def require_answer() -> None:
            assert WORDS in ask("answered", asked, AMPLE_S, voice.answered)

        require_answer()
        for case, reply in voice.list_replies().items():
            assert WORDS not in ask(case, asked, SHORT_S, reply)
            # It is not left alone for its failures, and would not be asked otherwise.
            require_answer()
        for case, event in MALFORMED.items():
            ask(case, event, SHORT_S, None)
        ask("a document", WITH, SHORT_S, voice.refused)
        ask("late", asked, LATE_S, (*voice.answered[:1], Stall(60)))
        ask("denied", asked, SHORT_S, tell(voice.denied))
        ask("left alone", asked, SHORT_S, None)

    assert {case: canaries for case, canaries in found.items() if canaries} == {}
    assert silent == []


@pytest.mark.req("A-SCRS-05", "A-SCRS-14", "A-SC-01")
@pytest.mark.parametrize("wrong", WRONG)
def test_nor_does_one_of_a_function_that_cannot_answer(wrong: str, start: Start, tmp_path: Path) -> None:
    (kit,) = (kit for kit in KITS if kit.name == "anthropic")
    with behind(kit, start, tmp_path / "log", **WRONG[wrong]) as (running, _):
        told = running.ask(WITH, AMPLE_S)
        log = running.read_log()

    assert find_canaries(log + told, kit) == []
    assert "structured_completion" in log
    assert "completion_failed" in told or "disabled" in told
