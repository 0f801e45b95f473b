"""What somebody of another organisation can learn: nothing, not even that it exists."""

import uuid

import pytest

from local.cli.api import Api, ApiRefused
from tests.deployed import Deployed, start, wait_for_end

pytestmark = pytest.mark.stack

QUESTION = "How long does the mirror of the Aldous telescope have to cool?"


@pytest.fixture
def answered(ada: Api) -> dict[str, str]:
    """The identifiers of one answered question of Ada's."""
    conversation, run_id = start(ada, QUESTION)
    run = wait_for_end(ada, run_id)
    ref = run["message"]["citations"][0]
    return {
        "conversation": conversation,
        "run": run_id,
        "passage": ref["passageId"],
        "document": ref["documentId"],
    }


def refusal(call: object, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(ApiRefused) as caught:
        call(*arguments)  # type: ignore[operator]  # every caller passes a method of Api
    return caught.value.status, caught.value.code, str(caught.value).partition(" (reference")[0]


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("get", "/conversations/{}", "conversation"),
        ("get", "/conversations/{}/artifacts", "conversation"),
        ("post", "/conversations/{}/messages", "conversation"),
        ("get", "/runs/{}", "run"),
        ("get", "/runs/{}/envelopes", "run"),
        ("post", "/runs/{}/cancel", "run"),
        ("get", "/passages/{}", "passage"),
    ],
)
def test_a_foreign_identifier_is_refused_like_one_that_never_was(
    mira: Api, answered: dict[str, str], method: str, path: str, named: str
) -> None:
    body = [{"text": "hello"}] if method == "post" else []
    call = getattr(mira, method)

    foreign = refusal(call, path.format(answered[named]), *body)
    unknown = refusal(call, path.format(uuid.uuid4()), *body)

    assert foreign == unknown
    assert foreign[:2] == (404, "not_found")


def test_lists_do_not_show_it(mira: Api, answered: dict[str, str]) -> None:
    listed = [entry["conversationId"] for entry in mira.get("/conversations")["conversations"]]

    assert answered["conversation"] not in listed
    assert mira.get("/corpora")["corpora"] == []
    assert refusal(mira.get, "/corpora/docs/documents") == refusal(mira.get, "/corpora/never-was/documents")


def test_an_answer_about_it_is_empty(mira: Api, answered: dict[str, str]) -> None:
    _, run_id = start(mira, QUESTION)

    run = wait_for_end(mira, run_id)

    assert "found nothing" in run["message"]["text"]
    assert run["message"]["citations"] == []
    assert "forty" not in run["message"]["text"]


def test_a_foreign_run_cannot_be_subscribed_to(
    indexed: Deployed, mira: Api, answered: dict[str, str]
) -> None:
    import json

    with indexed.socket(mira) as socket:
        wanted = {"action": "subscribe", "conversationId": answered["conversation"], "runId": answered["run"]}
        socket.send(json.dumps(wanted))
        frame = json.loads(socket.recv(timeout=20))

    assert frame["type"] == "refused"
    assert frame["payload"]["code"] == "not_found"


def test_a_colleague_does_not_see_another_persons_conversation(
    indexed: Deployed, answered: dict[str, str]
) -> None:
    with indexed.api("ben") as ben:
        assert refusal(ben.get, f"/conversations/{answered['conversation']}")[0] == 404


def test_a_member_may_not_index(indexed: Deployed) -> None:
    files = [{"path": "a.md", "sha256": "0" * 64, "sizeBytes": 1}]
    with indexed.api("ben") as ben:
        assert refusal(ben.post, "/corpora/docs/uploads", {"files": files})[0] == 403


def test_a_token_that_nobody_signed_is_refused(indexed: Deployed) -> None:
    from dataclasses import replace

    from local.cli.api import Api as Client

    with indexed.api("ada") as ada:
        forged = replace(ada.target, token=ada.target.token[:-8] + "AAAAAAAA")
    with Client(forged) as api:
        assert refusal(api.get, "/conversations")[:2] == (401, "unauthenticated")
