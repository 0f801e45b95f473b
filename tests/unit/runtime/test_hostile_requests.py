"""Requests no honest client sends: each is refused, none is our failure."""

import pytest

from tests.unit.runtime.test_http_app import UNKNOWN, Api, opened
from tests.unit.services.world import World


@pytest.fixture
def api() -> Api:
    return Api(World())


@pytest.mark.parametrize(
    ("path", "raw", "field"),
    [
        ("/messages", r'{"text":"a\u0000b"}', "text"),
        ("/messages", r'{"text":"\ud800"}', "text"),
        ("/messages", '{"text":' + "9" * 5_000 + "}", "text"),
        ("/interactions", r'{"kind":"\u0000"}', "kind"),
        ("/interactions", r'{"kind":"x","data":{"a":"\u0000"}}', "data.a"),
        ("/interactions", r'{"kind":"x","data":{"a\u0000":1}}', "data.a"),
        ("/interactions", '{"kind":"x","data":{"n":NaN}}', "data.n"),
        ("/interactions", '{"kind":"x","data":{"n":Infinity}}', "data.n"),
        ("/interactions", '{"kind":"x","data":{"n":1e999}}', "data.n"),
        ("/interactions", '{"kind":"x","kind":"y"}', "kind"),
    ],
)
def test_a_body_that_could_not_be_stored_is_refused_and_the_field_named(
    api: Api, path: str, raw: str, field: str
) -> None:
    status, problem, headers = api("POST", f"/conversations/{opened(api)}{path}", raw=raw)

    assert (status, problem["code"]) == (400, "invalid_request")
    assert headers["content-type"] == "application/problem+json"
    assert field in problem["detail"]


@pytest.mark.parametrize(
    "raw", [b'{"title":"\xff"}', b'{"title":"\xed\xa0\x80"}', b"\x00\x01", b"\xff\xfe{\x00}\x00"]
)
def test_a_body_that_is_not_utf_8_is_refused(api: Api, raw: bytes) -> None:
    status, problem, _ = api("POST", "/conversations", raw=raw)

    assert (status, problem["code"]) == (400, "invalid_request")
    assert "body" in problem["detail"]


def test_bytes_that_are_utf_8_are_read_whatever_they_are_called(api: Api) -> None:
    status, created, _ = api("POST", "/conversations", raw='{"title":"Größe �"}'.encode())

    assert (status, created["title"]) == (201, "Größe �")


def test_bytes_that_the_gateway_replaced_are_refused(api: Api) -> None:
    sent = b'{"title":"\xff"}'

    status, problem, _ = api(
        "POST",
        "/conversations",
        raw=sent.decode(errors="replace"),
        headers={"content-length": str(len(sent))},
    )

    assert (status, problem["code"]) == (400, "invalid_request")


def test_a_replacement_character_that_was_sent_is_kept(api: Api) -> None:
    sent = '{"title":"�"}'

    status, created, _ = api(
        "POST", "/conversations", raw=sent, headers={"content-length": str(len(sent.encode()))}
    )

    assert (status, created["title"]) == (201, "�")


@pytest.mark.parametrize("text", ["\x00", "\ud800", "a\x00b"])
@pytest.mark.parametrize(
    ("path", "name"),
    [("/corpora/handbook/documents", "cursor"), ("/activity", "tool"), (f"/runs/{UNKNOWN}", "wait")],
)
def test_a_query_that_could_not_be_stored_is_refused_and_the_parameter_named(
    api: Api, path: str, name: str, text: str
) -> None:
    status, problem, _ = api("GET", path, token="root", query={name: text})

    assert (status, problem["code"]) == (400, "invalid_request")
    assert name in problem["detail"]


@pytest.mark.parametrize("text", ["\x00", "\ud800", "é"])
def test_a_path_and_a_token_of_any_characters_are_answered(api: Api, text: str) -> None:
    assert api("GET", f"/conversations/{text}")[0] in (400, 404)
    assert api("GET", f"/nothing{text}")[0] == 404
    assert api("GET", "/conversations", token=text)[0] == 401


def test_a_stranger_learns_nothing_of_the_body(api: Api) -> None:
    assert api("POST", "/conversations", token="stranger", raw=b"\xff")[0] == 401


@pytest.mark.parametrize("owner", ["nobody", "a stranger", "another conversation"])
def test_an_interaction_with_a_run_that_is_not_its_conversations_is_answered_like_an_unknown_one(
    api: Api, owner: str
) -> None:
    conversation, run = opened(api), UNKNOWN
    if owner != "nobody":
        token = "ada" if owner == "another conversation" else "eve"
        theirs = api("POST", "/conversations", {}, token=token)[1]["conversationId"]
        run = api("POST", f"/conversations/{theirs}/messages", {"text": "Well?"}, token=token)[1]["runId"]

    address = f"/conversations/{conversation}/interactions"
    status, problem, _ = api("POST", address, {"kind": "copied", "runId": run})

    assert (status, problem["code"], problem["detail"]) == (404, "not_found", "there is no such run")


def test_an_interaction_with_its_conversations_run_is_kept(api: Api) -> None:
    conversation = opened(api)
    run = api("POST", f"/conversations/{conversation}/messages", {"text": "Well?"})[1]["runId"]

    address = f"/conversations/{conversation}/interactions"
    assert api("POST", address, {"kind": "copied", "runId": run})[0] == 202


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/conversations", "GET, HEAD, OPTIONS, POST"),
        ("DELETE", f"/runs/{UNKNOWN}", "GET, HEAD, OPTIONS"),
        ("GET", f"/runs/{UNKNOWN}/cancel", "OPTIONS, POST"),
        ("HEAD", "/tickets", "OPTIONS, POST"),
        ("BREW", "/health", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_method_that_an_address_does_not_answer_to_is_told_which_it_does(
    api: Api, method: str, path: str, allowed: str
) -> None:
    status, problem, headers = api(method, path)

    assert (status, headers["allow"]) == (405, allowed)
    assert headers["content-type"] == "application/problem+json"
    assert problem is None if method == "HEAD" else problem["code"] == "method_not_allowed"


def test_an_address_says_what_it_answers_to(api: Api) -> None:
    status, body, headers = api("OPTIONS", "/tickets", token=None)

    assert (status, body, headers["allow"]) == (204, None, "OPTIONS, POST")
    assert api("OPTIONS", "/nothing")[0] == 404


def test_head_is_get_without_its_body(api: Api) -> None:
    assert api("HEAD", "/health", token=None)[:2] == (200, None)
    assert api("HEAD", "/conversations", token=None)[:2] == (401, None)
    assert api("HEAD", "/nothing")[:2] == (404, None)


@pytest.mark.parametrize(
    "title", ["a\x01b", "a\x1b[31mb", "a\x7fb", "a\x85b", "a\u202eb", "a\u2066b", "a\r\nb"]
)
def test_a_title_shows_no_control_character(api: Api, title: str) -> None:
    status, created, _ = api("POST", "/conversations", {"title": title})

    assert status == 201
    assert created["title"].isprintable()
    assert created["title"].startswith("a ")
