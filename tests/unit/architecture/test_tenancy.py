"""Whose ids a route takes is said before it is served, and the page shows what was said."""

from equerry.surfaces.http.exchange import HttpAnswer
from equerry.surfaces.http.routing import Parameter, Route
from pydantic import BaseModel, Field

from tests.matrix.asking import BODIES
from tests.matrix.page import PAGE, write_page
from tests.matrix.rules import DECLARED, NO_IDS
from tests.matrix.slots import list_routes, list_slots, read_slots


class Part(BaseModel):
    draft_ids: list[str] = Field(alias="draftIds")


class Whole(BaseModel):
    parts: list[Part] | None
    valid: bool
    id: str


def test_everything_that_is_named_by_an_id_says_whose_ids_it_takes() -> None:
    found = {slot.key for slot in list_slots()}

    assert found == {*DECLARED, *NO_IDS}
    assert not {*DECLARED} & {*NO_IDS}


def test_an_id_is_found_wherever_a_route_takes_one() -> None:
    route = Route(
        method="POST",
        path="/things/{thing}/parts/{partId}",
        operation="joinParts",
        summary="",
        handle=lambda _request: HttpAnswer(status=200),
        request=Whole,
        query=(Parameter(name="ownerId", description=""), Parameter(name="limit", description="")),
        headers=(
            Parameter(name="X-Draft-Id", description=""),
            Parameter(name="Idempotency-Key", description=""),
        ),
    )

    found = [(slot.place, slot.name) for slot in read_slots([route])]

    assert found == [
        ("path", "thing"),
        ("path", "partId"),
        ("query", "ownerId"),
        ("header", "X-Draft-Id"),
        ("body", "draftIds"),
        ("body", "id"),
    ]


def test_what_a_route_must_be_sent_is_known() -> None:
    """Else a row of the matrix would be refused for its body, and prove nothing."""
    named = {slot.operation for slot in list_slots()}
    for route in list_routes():
        if route.operation in named and route.request is not None and route.operation not in BODIES:
            route.request.model_validate({})


def test_the_page_shows_the_rules() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(), ".venv/bin/python -m tests.matrix.page"
