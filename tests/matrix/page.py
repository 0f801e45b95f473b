"""`python -m tests.matrix.page` writes docs/tenancy.md: the matrix as its rules have it."""

from collections.abc import Iterable, Iterator

from local.places import ROOT
from tests.matrix.guises import GUISES
from tests.matrix.people import Relation
from tests.matrix.rules import DECLARED, NO_IDS, WELL_FORMED, Cell, Kind, Outcome
from tests.matrix.slots import SOCKET, Slot, list_routes, list_slots, needs_admin

PAGE = ROOT / "docs" / "tenancy.md"
_HEAD = """\
# Who is answered what

Every place in which a request names something by an id, and what is answered by whose it is. The rows come
from the registry that serves: a new route, field or frame with an id fails the tests until somebody has said
in `tests/matrix/rules.py` whose ids it takes. The statuses come from the rules [below](#the-rules), and the
tests ask the deployed stack each one of them.

This page is written by `.venv/bin/python -m tests.matrix.page`; an edit here is undone by the next run, and a
test fails while it differs.

## By whose id it is

Bold is the thing itself. Everything else tells nothing: 404 is one answer, whatever the reason.

"""
_SAME = """
What is hidden is compared with what the same person gets for an id that was never issued:

- **The same answer.** Status, headers and body are the same, but for the id that was asked for and what names
  the request (`tests/integration/test_whose_id.py`, on the deployed stack).
- **The same work.** The same statements in the same order, and the same calls to AWS; what is malformed is
  refused before either (`tests/chaos/test_cost_of_refusals.py`, the real handlers over PostgreSQL and the
  emulator). No time is measured: within one statement, a row that is found and may not be shown costs the
  database a policy more than a row that is not there.
- **Nothing happens.** Not a row of either organisation differs afterwards, and no call to AWS writes.

A project is lost and regained between two requests, five seconds after the [directory](projects.md) says so.
What is erased is erased for the person themselves, whose token is still good.
"""


def write_page() -> str:
    """Return the page."""
    parts = (
        _HEAD,
        _write_matrix(),
        _SAME,
        "\n## The rules\n\n",
        _write_kinds(),
        "\nNamed like ids, and none of ours:\n\n",
        _write_table(("In", "What it is"), ((_place(slot), NO_IDS[slot.key]) for slot in _list_others())),
        "\n## By how you come\n\n",
        _write_guises(),
    )
    return "".join(parts)


def _write_matrix() -> str:
    columns = (Relation.OWN, Relation.RETURNED, Relation.LEFT, Relation.COLLEAGUE, Relation.COLLEAGUE_ADMIN)
    rest = (Relation.STRANGER, Relation.ERASED, Relation.UNKNOWN, Relation.MALFORMED)
    relations = (*columns, *rest)
    rows = (
        (
            _place(slot),
            DECLARED[slot.key].name,
            *(_write_cell(Cell(slot, relation)) for relation in relations),
        )
        for slot in list_slots()
        if slot.key in DECLARED
    )
    return _write_table(("An id in", "Kind", *(relation.value for relation in relations)), rows)


def _write_cell(cell: Cell) -> str:
    if cell.expected is Outcome.SUCCESS and cell.kind.shown != WELL_FORMED:
        return f"**{cell.status}**"
    return f"{cell.status}, empty" if cell.expected is Outcome.NOTHING else str(cell.status)


def _place(slot: Slot) -> str:
    if slot.method == SOCKET:
        return f"socket, `{slot.operation}`: `{slot.name}`"
    where = "" if slot.place == "path" else f", {slot.place}"
    return f"`{slot.method} {slot.path}`{where}: `{slot.name}`"


def _write_kinds() -> str:
    kinds: dict[str, Kind] = {kind.name: kind for kind in DECLARED.values()}
    return _write_table(("Kind", "Rule"), ((name, kind.told) for name, kind in kinds.items()))


def _write_guises() -> str:
    public = [route.operation for route in list_routes() if not route.authenticated]
    admin = [route.operation for route in list_routes() if needs_admin(route)]
    guises = ((guise.name, str(guise.status), f"`{guise.code}`") for guise in GUISES)
    return (
        "Every route but "
        + _enumerate(public)
        + " needs a person's token, and tells everybody else the same, whatever they ask for:\n\n"
        + _write_table(("You come with", "Status", "`code`"), guises)
        + "\nNo route takes a person from `x-forwarded-user`: beside a person's own token it is not read.\n\n"
        + _enumerate(admin)
        + " are for administrators; a member gets 403 `admin_required` there.\n"
    )


def _list_others() -> Iterator[Slot]:
    return (slot for slot in list_slots() if slot.key in NO_IDS)


def _enumerate(operations: list[str]) -> str:
    named = [f"`{operation}`" for operation in operations]
    return ", ".join(named[:-1]) + " and " + named[-1]


def _write_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = tuple(head)
    lines = (columns, ("---",) * len(columns), *rows)
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
