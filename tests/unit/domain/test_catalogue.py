"""A catalogue is data: one validator tells every fault, and an address is filled in or not given."""

import pytest
from equerry.domain.catalogue import InvalidCatalogue, ProductRoute, read_catalogue

ORDERS = {"id": "orders", "label": "Orders", "path": "/orders"}
ORDER = {
    "id": "order",
    "label": "Order",
    "path": "/projects/:projectId/orders/:orderId",
    "scope": "project",
    "visibility": "hidden",
    "group": "Purchasing",
    "synonyms": ["purchase order"],
}


def find_path(path: str, **hints: str) -> str | None:
    return ProductRoute(route_id="x", label="X", path=path).find_path(hints)


def test_a_catalogue_is_a_list_of_routes_or_a_table_that_holds_one() -> None:
    listed = read_catalogue("shop", [ORDERS, ORDER])

    assert listed == read_catalogue("shop", {"routes": [ORDERS, ORDER]})
    assert [route.route_id for route in listed.routes] == ["orders", "order"]
    order = listed.routes[1]
    assert (order.scope, order.visibility, order.group) == ("project", "hidden", "Purchasing")
    assert order.synonyms == ("purchase order",)


def test_the_version_changes_with_every_edit_and_with_nothing_else() -> None:
    before = read_catalogue("shop", [ORDERS, ORDER])

    assert read_catalogue("shop", [dict(ORDERS), dict(ORDER)]).version == before.version
    assert read_catalogue("shop", [{**ORDERS, "label": "All orders"}, ORDER]).version != before.version


def test_every_fault_is_told_at_once() -> None:
    faulty = {
        "routes": [
            {"id": "Orders!", "label": " ", "path": "orders", "colour": "red"},
            {**ORDERS, "visibility": "secret", "synonyms": "orders", "group": ""},
            {**ORDERS, "scope": "world"},
            "orders",
        ],
        "pages": [],
    }

    with pytest.raises(InvalidCatalogue) as told:
        read_catalogue("shop", faulty)

    for fault in (
        "catalogue 'shop'",
        "unknown keys ['pages']",
        "route 1: 'label' must be text",
        "route 1: unknown keys ['colour']",
        "route 1: 'id' must match",
        "route 1: 'path' must look like",
        "route 2: 'visibility' must be one of primary, hidden, chromeless, got 'secret'",
        "route 2: 'synonyms' must be a list of texts",
        "route 2: 'group' must be text",
        "route 3: 'scope' must be one of",
        "route 4: must be a table",
        "two routes have the id 'orders'",
        "two routes have the path '/orders'",
    ):
        assert fault in str(told.value)


@pytest.mark.parametrize("data", [None, {}, [], {"routes": []}, "orders", {"routes": [ORDERS] * 501}])
def test_no_routes_are_no_catalogue(data: object) -> None:
    with pytest.raises(InvalidCatalogue):
        read_catalogue("shop", data)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "//evil.example",
            "https://evil.example",
            "/a//b",
            "/a/",
            "a",
            "",
            "/a b",
            "/a?b=c",
            "/a#b",
            "/\\evil",
        ),
        *("/:", "/:1", "/a/:id/b/:id", "javascript:alert(1)"),
    ],
)
def test_a_path_never_leads_out_of_the_product(path: str) -> None:
    with pytest.raises(InvalidCatalogue, match="'path'"):
        read_catalogue("shop", [{**ORDERS, "path": path}])


def test_a_path_is_filled_in_from_hints() -> None:
    assert find_path("/orders") == "/orders"
    assert find_path("/") == "/"
    assert find_path("/projects/:projectId/orders", projectId="p-1", orderId="9") == "/projects/p-1/orders"
    assert find_path("/projects/:projectId/orders/:orderId", projectId="p-1") is None


@pytest.mark.parametrize(
    "hint", ["", "..", ".", "a/b", "a b", "../admin", "//x", "x?y", "x" * 129, "é", "%2e%2e"]
)
def test_a_hint_that_could_change_the_address_is_no_hint(hint: str) -> None:
    assert find_path("/projects/:projectId/orders", projectId=hint) is None


@pytest.mark.req("A-NAV-09")
def test_a_group_changes_nothing_but_what_the_catalogue_says_of_itself() -> None:
    without = {key: text for key, text in ORDER.items() if key != "group"}
    (route,) = read_catalogue("shop", [without]).routes

    assert route.group is None
    assert route.find_path({"projectId": "p", "orderId": "o"}) == "/projects/p/orders/o"


def test_nobody_is_sent_to_a_page_without_a_frame() -> None:
    portal = {"id": "portal", "label": "Portal", "path": "/portal/:token", "visibility": "chromeless"}

    offered = read_catalogue("shop", [ORDERS, ORDER, portal]).list_offered()

    assert [route.route_id for route in offered] == ["orders", "order"]
