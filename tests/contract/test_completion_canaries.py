"""Nothing that a caller sends, and no key, is in any line that either function writes."""

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from local.places import ROOT
from tests.completions import HOST, PNG, SCHEMA, URL, document, image, payload
from tests.contract.test_response_streaming import ARN, build_variables, function, invoke
from tests.strict.anthropic_events import (
    Drop,
    Failure,
    Item,
    Json,
    Reply,
    Stall,
    Stream,
    error,
    message,
    text,
    tool,
)
from tests.strict.anthropic_server import KEY, serve_anthropic
from tests.strict.lambda_server import serve_lambda
from tests.strict.secrets_server import serve_secrets

PROMPT, SYSTEM, LABEL, TITLE = "canary-prompt", "canary-system", "canary-label", "canary-title"
WORDS, SAID, NAME = "canary-output", "canary-provider", "canary-field"
SIGNATURE, PATH = "canary5ec7e7", "canary-path"
ADDRESS = URL.replace("5ec7e7", SIGNATURE).replace("plan.pdf", f"{PATH}.pdf")
PIXELS = PNG + b"canary-pixels-canary"
CANARIES = (
    *(PROMPT, SYSTEM, LABEL, TITLE, WORDS, SAID, NAME, SIGNATURE, PATH, KEY, "canary-pixels"),
    *(b64encode(PIXELS).decode()[12:32], HOST),
)
ASKED = payload(
    prompt=PROMPT,
    system=SYSTEM,
    images=[image(PIXELS, label=LABEL)],
    documents=[document(ADDRESS, title=TITLE)],
)
ANSWER = tool(json.dumps({"city": WORDS}), name="emit")
Case = tuple[Any, Reply | tuple[Item, ...], dict[str, str]]
CASES: dict[str, Case] = {
    "answered": (ASKED, message(ANSWER, stop="tool_use"), {}),
    "no answer": (ASKED, message(text(WORDS)), {}),
    "cut off": (ASKED, message(text(WORDS), stop="max_tokens"), {}),
    "declined": (ASKED, message(text(WORDS), stop="refusal"), {}),
    "does not fit": (
        ASKED,
        message(tool(json.dumps({"city": 3, WORDS: WORDS}), name="emit"), stop="tool_use"),
        {},
    ),
    "unreadable": (ASKED, message(tool('{"city": "' + WORDS, name="emit"), stop="tool_use"), {}),
    "refused": (ASKED, Failure(400, "invalid_request_error", message=f"{SAID} {PROMPT} {ADDRESS} {KEY}"), {}),
    "denied": (ASKED, Failure(401, "authentication_error", message=f"{SAID} {KEY}"), {}),
    "overloaded": (ASKED, Failure(529, "overloaded_error", message=f"{SAID} {PROMPT}"), {}),
    "in band": (ASKED, (*message(ANSWER)[:4], error("api_error")), {}),
    "dropped": (ASKED, (*message(ANSWER)[:4], Drop()), {}),
    "late": (
        ASKED,
        (*message(ANSWER)[:4], Stall(30)),
        {"STRUCTURED_COMPLETION_DEADLINE_MILLISECONDS": "1200"},
    ),
    "off": (ASKED, Drop(), {"STRUCTURED_COMPLETIONS_ENABLED": "false"}),
    "no key": (ASKED, Drop(), {"MODEL_SECRET_ARN": ARN + "x"}),
    "a bug": (ASKED, Drop(), {"STRUCTURED_COMPLETION_PROFILES": "{"}),
    "unknown field": ({**ASKED, NAME: PROMPT}, Drop(), {}),
    "malformed": ({**ASKED, "requestId": PROMPT, "workload": PROMPT}, Drop(), {}),
    "no image": ({**ASKED, "images": [image(PIXELS, "image/jpeg", label=LABEL)]}, Drop(), {}),
    "another host": ({**ASKED, "documents": [document("https://x/" + ADDRESS)]}, Drop(), {}),
    "no schema": ({**ASKED, "jsonSchema": {**SCHEMA, "required": NAME, "$comment": PROMPT}}, Drop(), {}),
}
TOGETHER = (
    *("answered", "no answer", "cut off", "declined", "does not fit", "unreadable", "unknown field"),
    *("malformed", "no image", "another host", "no schema"),
)
"""What one process can be asked in turn: the provider is well, and the settings are the usual ones."""
NEXT = "\x1e"
WAITED = f"""
import json, logging, sys, traceback
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
from structured_completion.handler import handle
class Context:
    aws_request_id = "1"
    def get_remaining_time_in_millis(self): return 60000
for event in json.load(sys.stdin):
    try:
        json.dump(handle(event, Context()), sys.stderr)
    except Exception as failure:
        traceback.print_exc(file=sys.stdout)  # as Lambda's own client does
        print(str(failure), file=sys.stderr)
    print({NEXT!r}, end="", flush=True)
    print({NEXT!r}, end="", file=sys.stderr, flush=True)
"""
Told = tuple[str, str]
"""What a function wrote to its log, and what its caller was told."""


def describe(case: str) -> Any:
    """Return a case's event; the prompt names the case."""
    event = CASES[case][0]
    return event | ({"prompt": f"{PROMPT} case:{case};"} if event.get("prompt") == PROMPT else {})


def choose(body: Json) -> Reply:
    """Play the provider: what it replies is the case's."""
    said = json.dumps(body)
    (reply,) = [reply for case, (_, reply, _) in CASES.items() if f"case:{case};" in said]
    return Stream(reply) if isinstance(reply, tuple) else reply


def wait_for(cases: Sequence[str], environ: Mapping[str, str]) -> list[Told]:
    """Ask the function that is waited for."""
    variables = {
        **environ,
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'layers/shared/python'}:{ROOT / 'functions'}",
    }
    done = subprocess.run(
        [sys.executable, "-c", WAITED],
        input=json.dumps([describe(case) for case in cases]),
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    logs, told = done.stdout.split(NEXT), done.stderr.split(NEXT)
    assert (logs.pop(), told.pop()) == ("", "")
    return list(zip(logs, told, strict=True))


def stream(cases: Sequence[str], environ: Mapping[str, str], log: Path) -> list[Told]:
    """Ask the function that streams."""
    found, read = list[Told](), 0
    with serve_lambda() as server, function(server, "structured_completion.streaming.handle", log, environ):
        for case in cases:
            frames, _ = invoke(server, describe(case))
            assert server.idle.wait(30)
            written = log.read_text()[read:]
            read += len(written)
            found.append((written, json.dumps(frames[-1])))
    return found


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], Told]:
    """Asks a function of its own, or one that several cases share; each case once."""

    @cache
    def ask_all(cases: tuple[str, ...], streamed: bool) -> dict[str, Told]:
        with serve_anthropic(choose) as provider, serve_secrets({ARN: KEY}) as aws:
            environ = build_variables(provider.url, aws) | CASES[cases[0]][2]
            log = tmp_path_factory.mktemp("function") / "log"
            told = stream(cases, environ, log) if streamed else wait_for(cases, environ)
        asked = "".join(map(json.dumps, provider.requests))
        if cases == TOGETHER:
            assert [case for case in cases if CASES[case][0] is ASKED and f"case:{case};" not in asked] == []
        return dict(zip(cases, told, strict=True))

    return lambda case, streamed: ask_all(TOGETHER if case in TOGETHER else (case,), streamed)[case]


@pytest.mark.req("A-SCRS-05", "A-SCRS-14", "A-SCDO-11", "A-SC-01")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("streamed", [False, True], ids=["waited", "streamed"])
def test_no_line_holds_what_was_sent_or_said(
    case: str, ask: Callable[[str, bool], Told], *, streamed: bool
) -> None:
    log, told = ask(case, streamed)

    # What happened is logged, so that silence is not taken for discretion.
    if case != "a bug" or streamed:
        assert "structured_completion" in log
    assert [canary for canary in CANARIES if canary in log] == []
    if case != "answered":
        assert [canary for canary in CANARIES if canary in told] == []
    else:
        assert WORDS in told
