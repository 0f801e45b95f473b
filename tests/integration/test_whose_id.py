"""Who is answered what, by whose id they name and by how they come: every route and frame, deployed.

The expectations are rules, in `tests/matrix`; docs/tenancy.md shows what they come to.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from equerry.surfaces.http.authentication import FORWARDED_USER
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.deployed import READ_TIMEOUT_S, Deployed, wait_for_end
from tests.matrix.asking import build_call, build_request
from tests.matrix.guises import GUISES, Guise
from tests.matrix.house import Answer, House
from tests.matrix.life import ask_about, canary_of, furnish
from tests.matrix.people import ANNA, BERT, Person, Relation
from tests.matrix.rules import Cell, Outcome, list_cells
from tests.matrix.slots import Slot, list_routes, needs_admin

pytestmark = pytest.mark.stack
CELLS = list_cells()
HIDING = (Relation.LEFT, Relation.COLLEAGUE, Relation.STRANGER, Relation.ERASED)


@pytest.fixture(scope="module")
def house(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with ExitStack() as closing:
        house = House(deployed, closing)
        furnish(house, tmp_path_factory.mktemp("house"))
        yield house


@pytest.fixture(scope="module")
def unknown() -> dict[tuple[Slot, Person], Answer]:
    """What somebody gets for an id that was never issued, by slot and person, once it was asked."""
    return {}


@pytest.mark.req("A-CONV-03", "A-PROJ-08", "R-42")
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.expected is not Outcome.SUCCESS], ids=str)
def test_what_is_not_theirs_is_answered_as_what_never_was_and_nothing_changes(
    house: House, unknown: dict[tuple[Slot, Person], Answer], cell: Cell
) -> None:
    house.reach(cell.relation)
    asker, before = cell.relation.asker, house.list_rows()

    answer = house.ask(build_request(cell, house.things, asker), asker)

    assert (answer.status, house.list_rows()) == (cell.status, before), answer
    if cell.expected.is_hidden:
        if (cell.slot, asker) not in unknown:
            unknown[cell.slot, asker] = house.ask(build_request(cell.unknown, house.things, asker), asker)
        assert answer == unknown[cell.slot, asker]
    if cell.expected is Outcome.NOTHING:
        assert answer.content["records"] == []
    else:
        assert answer.content["code"] == cell.expected.value
    if cell.expected is Outcome.MALFORMED:
        assert cell.slot.name in answer.text


@pytest.mark.req("A-PROJ-09")
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.expected is Outcome.SUCCESS], ids=str)
def test_what_they_may_have_is_there(house: House, cell: Cell) -> None:
    house.reach(cell.relation)
    asker, things = cell.relation.asker, dict(house.things)
    if (owner := cell.relation.owner) is not None:
        things[owner] = {**things[owner], **make_another(house, cell, owner)}

    answer = house.ask(build_request(cell, things, asker), asker)

    assert answer.status == cell.status, answer
    if cell.slot.operation == "submitTurn":
        with house.api(asker) as api:
            wait_for_end(api, answer.content["runId"])


def make_another(house: House, cell: Cell, owner: Person) -> dict[str, str]:
    """Return another thing of the same owner's, where the one they have would be gone."""
    match cell.slot.operation:
        case "deleteDocument":
            return {"documentId": house.announce_document(owner)}
        case "archiveConversation":
            return {"conversationId": house.open_conversation(owner, *owner.projects)}
    return {}


@pytest.mark.req("A-PROJ-07", "A-PROJ-08", "A-PROJ-09")
def test_a_conversation_is_lost_and_regained_with_its_project_between_two_requests(house: House) -> None:
    house.reach(Relation.RETURNED)

    assert house.seen == [200, 404, 200]


@pytest.mark.req("R-42")
@pytest.mark.parametrize("relation", HIDING, ids=lambda relation: relation.name.lower())
def test_what_is_hidden_is_in_no_list_and_no_answer(house: House, relation: Relation) -> None:
    house.reach(relation)
    asker, owner = relation.asker, relation.owner
    assert owner is not None
    hidden = [house.things[owner][name] for name in ("conversationId", "runId", "passageId")]

    for route in list_routes():
        if route.method == "GET" and route.authenticated and "{" not in route.path:
            listed = house.ask(build_call(route, {}), asker)
            assert not [each for each in hidden if each in listed.text], route.operation
    _, run = house.converse(asker, ask_about(owner))

    assert canary_of(owner) not in str(run)
    assert not [each for each in hidden if each in str(run)]


@pytest.mark.req("A-TEN-04")
@pytest.mark.parametrize("guise", GUISES, ids=lambda guise: guise.name)
def test_every_route_needs_a_person_and_their_organisation(house: House, guise: Guise) -> None:
    before = house.list_rows()
    routes = [route for route in list_routes() if route.authenticated]

    told = {}
    for route in routes:
        answer = house.send(build_call(route, house.things[ANNA]), guise.headers(house.sign, ANNA))
        told[route.operation] = (answer.status, answer.content["code"])

    assert told == {route.operation: (guise.status, guise.code) for route in routes}
    assert house.list_rows() == before


def test_no_socket_opens_without_a_ticket_that_is_good_once(house: House) -> None:
    with house.api(ANNA) as api:
        ticket = api.post("/tickets")
    address, trust = ticket["webSocketUrl"], house.stack.trust

    def knock(query: str) -> None:
        with connect(address + query, proxy=None, ssl=trust, open_timeout=READ_TIMEOUT_S):
            pass

    knock(f"?ticket={ticket['ticket']}")
    for query in ("", "?ticket=", "?ticket=invented", f"?ticket={ticket['ticket']}"):
        with pytest.raises(InvalidStatus) as refused:
            knock(query)
        assert refused.value.response.status_code in (401, 403), query


def test_what_needs_no_token_says_nothing_of_anybody(house: House) -> None:
    for route in list_routes():
        if not route.authenticated:
            answer = house.send(build_call(route, {}), {})
            assert answer.status == route.status, route.operation
            assert not any(person.name in answer.text for person in house.things)


def test_only_an_administrator_is_answered_where_a_route_says_so(house: House) -> None:
    routes = [route for route in list_routes() if needs_admin(route)]
    assert {"listActivity", "getFatigue", "listRunRecords"} <= {route.operation for route in routes}

    for route in routes:
        as_member = house.ask(build_call(route, house.things[BERT]), BERT)
        assert (as_member.status, as_member.content["code"]) == (403, "admin_required"), route.operation
        if route.method == "GET":
            as_admin = house.ask(build_call(route, house.things[ANNA]), ANNA)
            assert as_admin.status == route.status, route.operation


def test_a_person_is_not_made_another_by_forwarding_theirs(house: House) -> None:
    bert = {"authorization": f"Bearer {house.sign(BERT)}"}
    forwarding = bert | {FORWARDED_USER: house.sign(ANNA)}

    for route in list_routes():
        if route.method == "GET":
            wanted = build_call(route, house.things[ANNA])
            assert house.send(wanted, forwarding) == house.send(wanted, bert), route.operation
