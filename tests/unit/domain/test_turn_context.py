"""Where a person asks: what a route says, and what nothing says."""

from string import ascii_letters
from uuid import UUID

import pytest
from equerry.domain.turn_context import (
    DEFAULT_ROUTES,
    TurnContext,
    build_context,
    derive_context,
    parse_route_pattern,
    read_context,
)
from equerry.kernel.errors import InvalidInput, TooLarge
from hypothesis import given
from hypothesis import strategies as st

P, E = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
OTHER = "11111111-2222-3333-4444-555555555555"
UUIDS = st.uuids().map(str)
TAILS = st.lists(st.text(ascii_letters, min_size=1, max_size=8), max_size=4).map("/".join)
HINTS = st.fixed_dictionaries(
    {}, optional={"projectId": st.text(max_size=20), "estimateId": st.text(max_size=20)}
)


def derive(route: str | None, **ids: str) -> dict[str, str]:
    context = build_context(route, ids)
    return {} if context is None else dict(derive_context(context, DEFAULT_ROUTES).ids)


@pytest.mark.req("A-CONV-12")
@given(project=UUIDS, estimate=UUIDS, tail=TAILS, hints=HINTS, end=st.sampled_from(["", "/", "?a=b", "#c"]))
def test_a_page_of_an_estimate_names_project_and_estimate_whatever_else_is_said(
    project: str, estimate: str, tail: str, hints: dict[str, str], end: str
) -> None:
    route = f"/projects/{project}/estimates/{estimate}/{tail}{end}"

    assert derive(route, **hints) == {"projectId": project, "estimateId": estimate}


@pytest.mark.req("A-CONV-14")
@given(project=UUIDS, other=UUIDS, tail=TAILS)
def test_a_project_s_bare_estimate_page_adds_no_estimate(project: str, other: str, tail: str) -> None:
    assert derive(f"/projects/{project}/estimate/{tail}", projectId=project) == {"projectId": project}
    assert derive(f"/projects/{project}/estimate/{other}/{tail}") == {"projectId": project}


@pytest.mark.parametrize(
    "route",
    [
        f"/projects/{P}",
        f"/projects/{P}/estimates",
        f"/projects/{P}/estimates/new/lines",
        f"/projects/none/estimates/{E}/lines",
        f"/x/projects/{P}/estimates/{E}/lines",
        f"projects/{P}/estimates/{E}/lines",
        f"/home?next=/projects/{P}/estimates/{E}/lines",
        f"//projects/{P}/estimates/{E}",
        f"/projects/{P}x/estimates/{E}",
    ],
)
def test_any_other_page_says_nothing_and_what_was_given_beside_it_stays(route: str) -> None:
    assert derive(route) == {}
    assert derive(route, projectId=OTHER) == {"projectId": OTHER}


@given(route=st.text(max_size=200), hints=HINTS)
def test_any_text_is_a_route_and_adds_uuids_alone(route: str, hints: dict[str, str]) -> None:
    given_ids = {name: text.strip() for name, text in hints.items() if text.strip()}

    for name, found in derive(route, **hints).items():
        assert found == given_ids.get(name) or str(UUID(found)) == found


@given(route=st.none() | st.text(max_size=50), hints=HINTS)
def test_deriving_twice_changes_nothing_and_a_store_gives_it_back(
    route: str | None, hints: dict[str, str]
) -> None:
    context = build_context(route, hints)
    if context is None:
        return
    once = derive_context(context, DEFAULT_ROUTES)

    assert derive_context(once, DEFAULT_ROUTES) == once
    assert read_context(once.to_data()) == once


def test_ids_come_in_lower_case() -> None:
    assert derive(f"/projects/{P.upper()}/estimates/{E.upper()}") == {"projectId": P, "estimateId": E}


def test_the_first_pattern_that_fits_counts_and_names_are_the_product_s_own() -> None:
    routes = (parse_route_pattern("/orders/{orderId}"), parse_route_pattern("/{kind}/{recordId}/*"))

    found = derive_context(TurnContext(route=f"/orders/{P}"), routes)
    deeper = derive_context(TurnContext(route=f"/{E}/{P}/lines/7"), routes)

    assert found.find_id("orderId") == P
    assert deeper.ids == (("kind", E), ("recordId", P))


@pytest.mark.parametrize(
    "text",
    ["", "orders", "/", "/*", "/orders/{OrderId}", "/orders/{id}/{id}", "/a b", "/{a}{b}", "/orders/{id"],
)
def test_a_pattern_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="a route must look like"):
        parse_route_pattern(text)


def test_nothing_given_is_no_context() -> None:
    assert build_context(None, {}) is None
    assert build_context("  ", {"projectId": " ", "estimateId": None}) is None


@pytest.mark.req("A-GUARD-09")
def test_a_context_is_capped_as_a_whole() -> None:
    context = TurnContext(route="/" + "x" * 89, ids=(("projectId", "y"),))

    context.require_size(100)
    with pytest.raises(TooLarge, match="at most 99 characters, got 100"):
        context.require_size(99)
