"""Whatever is sent, the answer is never our failure."""

import json
import re

import pytest
from equerry.surfaces.http.routing import Route
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.runtime.test_http_app import UNKNOWN, Api, opened
from tests.unit.services.world import World

SLOW = settings(max_examples=50, deadline=None)
# NUL and half pairs of surrogates are likely, not merely possible.
TEXT = st.text(st.characters() | st.sampled_from("\x00\ud800\udfff\x1b\u202e"), max_size=30)
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**63, -(10**400)])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
NAMES = TEXT | st.sampled_from(["text", "title", "profile", "kind", "data", "runId", "files", "path"])
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
FILE = st.fixed_dictionaries(
    {"path": TEXT, "sha256": st.just("0" * 64), "sizeBytes": st.just(1)},
    optional={"visibleTo": st.lists(TEXT, max_size=3)},
)
NEARLY_RIGHT = {
    "createConversation": st.fixed_dictionaries({"title": TEXT}, optional={"profile": TEXT}),
    "submitTurn": st.fixed_dictionaries({"text": TEXT}),
    "recordInteraction": st.fixed_dictionaries(
        {"kind": TEXT}, optional={"runId": TEXT, "data": st.dictionaries(TEXT, SCALARS, max_size=3)}
    ),
    "announceFiles": st.fixed_dictionaries({"files": st.lists(FILE, min_size=1, max_size=3)}),
}
ROUTES = Api(World()).routes
POSTED = [route for route in ROUTES if route.method == "POST"]


@pytest.mark.parametrize("route", POSTED, ids=lambda route: route.operation)
@SLOW
@given(data=st.data())
def test_any_json_is_taken_or_refused(route: Route, data: st.DataObject) -> None:
    api = Api(World())
    body = data.draw(ANY_JSON | NEARLY_RIGHT.get(route.operation, ANY_JSON))
    raw = json.dumps(body, ensure_ascii=data.draw(st.booleans()))
    known = {"conversationId": opened(api), "corpusId": "handbook", "runId": UNKNOWN}

    status, answer, _ = api("POST", route.path.format(**known), token=choose_token(route), raw=raw)

    assert is_sound(status, answer), (status, answer)


@pytest.mark.parametrize("route", POSTED, ids=lambda route: route.operation)
@SLOW
@given(raw=st.binary(max_size=60) | TEXT)
def test_any_bytes_are_taken_or_refused(route: Route, raw: str | bytes) -> None:
    api = Api(World())
    known = {"conversationId": opened(api), "corpusId": "handbook", "runId": UNKNOWN}

    status, answer, _ = api("POST", route.path.format(**known), token=choose_token(route), raw=raw)

    assert is_sound(status, answer), (status, answer)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
@SLOW
@given(data=st.data())
def test_any_text_in_path_query_and_headers_is_taken_or_refused(route: Route, data: st.DataObject) -> None:
    api = Api(World())
    parts = TEXT | st.sampled_from([UNKNOWN, "handbook"])
    path = re.sub(r"\{\w+\}", lambda _: data.draw(parts), route.path)
    query = {given.name: data.draw(TEXT) for given in route.query} | data.draw(
        st.dictionaries(TEXT, TEXT, max_size=2)
    )
    headers = {given.name: data.draw(TEXT) for given in route.headers} | {"x-request-id": data.draw(TEXT)}

    status, answer, _ = api(route.method, path, token=choose_token(route), query=query, headers=headers)

    assert is_sound(status, answer), (status, answer)


def choose_token(route: Route) -> str:
    return "ada" if "conversation" in route.path else "root"


def is_sound(status: int, answer: dict[str, str] | None) -> bool:
    """Whether a request was answered, or refused as a problem."""
    return status < 300 or (status < 500 and answer is not None and bool(answer["code"] and answer["detail"]))
