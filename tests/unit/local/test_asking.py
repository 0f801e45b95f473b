import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from local.cli.api import Api, Target
from local.cli.asking import Asker
from local.cli.following import Envelope
from local.errors import NotRunning

REF = {
    "n": 1,
    "title": "Hooks",
    "headingPath": ["Hooks", "onRequest"],
    "quote": "Runs\n first.",
    "sourcePath": "hooks.md",
    "passageId": "p",
    "documentId": "d",
}
ANSWER = "It runs first.⟦1⟧"


class ScriptedApi:
    """Answers the routes of one question."""

    def __init__(self, *, documents: int = 1, text: str = ANSWER, stop_reason: str = "end_turn") -> None:
        self.documents = documents
        self.text = text
        self.stop_reason = stop_reason
        self.requests: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/assistant")
        self.requests.append((request.method, path))
        if path == "/corpora":
            return httpx.Response(200, json={"corpora": [{"documents": self.documents, "pending": 0}]})
        if path == "/conversations":
            return httpx.Response(201, json={"conversationId": "c"})
        if path.endswith("/messages"):
            assert json.loads(request.content)["text"]
            return httpx.Response(202, json={"runId": "r"})
        if path.endswith("/cancel"):
            return httpx.Response(202, json={})
        run = {
            "runId": "r",
            "stopReason": self.stop_reason,
            "message": {"text": self.text, "citations": [REF]},
            "error": {"code": "interrupted", "message": "the worker was lost"}
            if self.stop_reason == "interrupted"
            else None,
        }
        return httpx.Response(200, json=run)


def envelopes(*deltas: str) -> list[Envelope]:
    label = {"stage": "retrieving", "label": "Searching the documents"}
    events: list[tuple[str, dict[str, Any]]] = [("step", label)]
    events += [("token", {"delta": delta}) for delta in deltas]
    return [{"type": kind, "payload": payload} for kind, payload in [*events, ("done", {})]]


def asker(api: ScriptedApi, *deltas: str, quiet: bool = False, indexer: str | None = None) -> Asker:
    def follow(_api: Api, _conversation: str, _run: str) -> Iterator[Envelope]:
        yield from envelopes(*deltas)

    target = Target(url="http://api", headers={}, token="t", indexer=indexer)
    client = Api(target, httpx.MockTransport(api))
    return Asker(api=client, status=io.StringIO(), answer=io.StringIO(), quiet=quiet, follow=follow)


def said(stream: Any) -> str:
    return str(stream.getvalue())


def test_the_answer_is_shown_with_numbered_sources() -> None:
    asking = asker(ScriptedApi(), "It runs ", "first.⟦", "1⟧")

    asking.ask("When does it run?", None)

    assert said(asking.answer) == (
        "It runs first.[1]\n\nSources\n  [1] Hooks › onRequest (hooks.md)\n      “Runs first.”\n"
    )
    assert said(asking.status) == "· Searching the documents\nconversation c  run r\n"


def test_an_answer_that_verification_changed_is_shown_as_it_was_kept() -> None:
    asking = asker(ScriptedApi(text="Nothing covers that."), "It runs first.")

    asking.ask("When?", None)

    assert "The answer as it was kept:\nNothing covers that." in said(asking.answer)


def test_a_turn_that_ends_early_says_so() -> None:
    asking = asker(ScriptedApi(stop_reason="interrupted"), ANSWER)

    run = asking.ask("When?", None)

    assert run["stopReason"] == "interrupted"
    assert "interrupted): the worker was lost" in said(asking.status)
    assert said(asking.status).endswith("conversation c  run r\n")


def test_a_conversation_can_be_continued() -> None:
    api = ScriptedApi()

    asker(api, ANSWER).ask("And then?", "c-7")

    assert ("POST", "/conversations/c-7/messages") in api.requests
    assert ("POST", "/conversations") not in api.requests


def test_an_interrupt_cancels_the_run() -> None:
    api = ScriptedApi()
    asking = asker(api)

    def interrupted(*_: object) -> Iterator[Envelope]:
        raise KeyboardInterrupt

    stopped = Asker(api=asking.api, status=io.StringIO(), answer=io.StringIO(), follow=interrupted)
    with pytest.raises(KeyboardInterrupt):
        stopped.ask("When?", None)

    assert ("POST", "/runs/r/cancel") in api.requests
    assert said(stopped.status) == "cancelled\nconversation c  run r\n"


def test_without_documents_it_says_how_to_index_and_the_question_is_put_all_the_same() -> None:
    api = ScriptedApi(documents=0, text="Go to Billing.")
    asking = asker(api, "Go to Billing.")

    asking.warn_without_documents()
    asking.ask("Where is billing?", None)

    assert "equerry index" in said(asking.status)
    assert said(asking.answer).startswith("Go to Billing.")


@pytest.mark.parametrize(
    ("indexer", "hint"), [(None, "index PATH/TO/A/FOLDER"), ("mira", "index PATH/TO/A/FOLDER --user mira")]
)
def test_who_has_no_documents_is_told_how_to_index_in_their_organisation(
    indexer: str | None, hint: str
) -> None:
    asking = asker(ScriptedApi(documents=0), indexer=indexer)

    asking.warn_without_documents()

    assert said(asking.status).endswith(f"equerry {hint}\n")


@pytest.mark.parametrize(("local", "remedy"), [(True, "make up"), (False, "EQUERRY_URL")])
def test_nobody_at_an_address_is_told_with_what_can_be_done_about_that_address(
    local: bool, remedy: str
) -> None:
    def refuse(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    target = Target(url="http://api", headers={}, token="t", local=local)
    api = Api(target, httpx.MockTransport(refuse), sleep=lambda _s: None)
    with api, pytest.raises(NotRunning, match="cannot be reached") as caught:
        api.get("/corpora")

    assert remedy in caught.value.remedy
    assert ("make up" in caught.value.remedy) == local
