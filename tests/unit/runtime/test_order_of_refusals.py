"""Whatever stands against a turn, the first in the order is told, and no refusal leaves a trace."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

import pytest
from equerry.domain.limits import TurnLimits
from equerry.domain.tenancy import Tenancy
from equerry.kernel.identifiers import ConversationId
from equerry.surfaces.http.routing import Route

from tests.fakes.transcripts import MemoryTranscriptAdapter
from tests.unit.runtime.test_http_app import UNKNOWN, Api
from tests.unit.services.world import ADA, World

STARTING = [route for route in Api(World()).routes if 429 in route.failures]
"""Only what is counted can be used up, so these routes are those that begin a turn."""


@dataclass
class Attempt:
    """A question about to be sent, by somebody who has asked one before in another conversation."""

    world: World = field(default_factory=World)
    bills: bool = False
    token: str | None = "ada"
    conversation: str = ""
    body: dict[str, Any] = field(default_factory=lambda: {"text": "Well?"})

    def __post_init__(self) -> None:
        self.world.submit(self.world.open_conversation())
        self.conversation = self.world.open_conversation()

    def send(self, route: Route) -> tuple[int, Any, dict[str, str]]:
        api = Api(self.world, bills=self.bills)
        path = route.path.format(conversationId=self.conversation)
        return api(route.method, path, self.body, token=self.token)

    def list_traces(self) -> Any:
        """Return all that a turn would have changed."""
        world = self.world
        store = (world.store.conversations, world.store.messages, world.store.runs, world.leases.held)
        counted = (world.admissions.windows, world.admissions._users, world.admissions._organisations)
        return deepcopy((store, counted, world.model.requests, world.queue.__dict__.get("_messages")))


def without_a_token(attempt: Attempt) -> None:
    attempt.token = None


def without_a_plan(attempt: Attempt) -> None:
    attempt.bills = True


def switched_off(attempt: Attempt) -> None:
    attempt.world.switch.set("false")


def organisation_not_enabled(attempt: Attempt) -> None:
    attempt.world.store.tenancies.known[ADA.organisation_id] = Tenancy(enabled=False)


def surface_not_theirs(attempt: Attempt) -> None:
    known = attempt.world.store.tenancies.known
    standing = known.get(ADA.organisation_id, Tenancy())
    known[ADA.organisation_id] = replace(standing, surfaces=("chat",))
    attempt.body["surface"] = "kiosk"


def no_such_conversation(attempt: Attempt) -> None:
    attempt.conversation = UNKNOWN


def archived(attempt: Attempt) -> None:
    MemoryTranscriptAdapter(attempt.world.store).archive_conversation(
        ADA, ConversationId(attempt.conversation)
    )


def too_long(attempt: Attempt) -> None:
    attempt.body["text"] = "x" * 120_001


def person_too_often(attempt: Attempt) -> None:
    limit(attempt, user_turns_per_minute=1)


def organisation_too_often(attempt: Attempt) -> None:
    limit(attempt, organisation_turns_per_minute=1)


def no_tokens_left(attempt: Attempt) -> None:
    limit(attempt, daily_tokens=TurnLimits().turn_tokens)


def conversation_taken(attempt: Attempt) -> None:
    """Must be the first to be arranged: it asks a question."""


def limit(attempt: Attempt, **limits: int) -> None:
    attempt.world.limits = replace(attempt.world.limits, **limits)


Cause = Callable[[Attempt], None]
ORDER: list[tuple[Cause, int, str]] = [
    (without_a_token, 401, "unauthenticated"),
    (without_a_plan, 403, "billing_required"),
    (switched_off, 503, "assistant_disabled"),
    (organisation_not_enabled, 403, "assistant_not_enabled"),
    (surface_not_theirs, 403, "surface_not_allowed"),
    (no_such_conversation, 404, "not_found"),
    (archived, 409, "conversation_archived"),
    (too_long, 413, "too_large"),
    (person_too_often, 429, "rate_limited"),
    (organisation_too_often, 429, "rate_limited"),
    (no_tokens_left, 429, "assistant_daily_limit"),
    (conversation_taken, 409, "turn_in_progress"),
]
WHOSE = {person_too_often: '"user"', organisation_too_often: '"organisation"'}
PAIRS = list(combinations(ORDER, 2))


def arrange(*causes: Cause) -> Attempt:
    attempt = Attempt()
    if conversation_taken in causes:
        attempt.world.submit(attempt.world.open_conversation())
        attempt.world.turns.submit(ADA, attempt.conversation, "Already?")  # type: ignore[arg-type]
    for cause in causes:
        cause(attempt)
    return attempt


def test_every_step_is_followed_by_the_next_in_some_pair() -> None:
    assert all(pair in PAIRS for pair in pairwise(ORDER))
    assert [route.operation for route in STARTING] == ["submitTurn"]


@pytest.mark.req("A-GUARD-01", "F-GRANT-01", "F-GRANT-02", "F-GRANT-03", "F-ABUSE-02")
@pytest.mark.parametrize("route", STARTING, ids=lambda route: route.operation)
@pytest.mark.parametrize(
    ("first", "second"), PAIRS, ids=[f"{a[0].__name__}-{b[0].__name__}" for a, b in PAIRS]
)
def test_of_two_refusals_the_first_is_told_and_nothing_is_left_behind(
    first: tuple[Cause, int, str], second: tuple[Cause, int, str], route: Route
) -> None:
    attempt = arrange(second[0], first[0])
    before = attempt.list_traces()

    status, problem, headers = attempt.send(route)

    assert (status, problem["code"]) == first[1:]
    if first[0] in WHOSE:
        assert headers["ratelimit-policy"].startswith(WHOSE[first[0]])
    assert attempt.list_traces() == before


@pytest.mark.parametrize(("cause", "status", "code"), ORDER, ids=[each[0].__name__ for each in ORDER])
def test_each_refusal_stands_alone(cause: Cause, status: int, code: str) -> None:
    attempt = arrange(cause)

    assert attempt.send(STARTING[0])[0] == status


def test_nothing_against_it_is_accepted() -> None:
    assert arrange().send(STARTING[0])[0] == 202


@pytest.mark.req("F-GRANT-04", "F-GRANT-24")
def test_where_the_organisation_s_standing_cannot_be_read_nobody_is_let_in() -> None:
    attempt = arrange()
    attempt.world.store.tenancies.out = True
    before = attempt.list_traces()

    status, problem, headers = attempt.send(STARTING[0])

    assert (status, problem["code"], headers["retry-after"]) == (503, "service_unavailable", "5")
    assert attempt.list_traces() == before
    assert Api(attempt.world)("POST", "/conversations", {})[0] == 503


@pytest.mark.parametrize("level", ["tenant", "surface"])
def test_an_operator_s_switch_for_an_organisation_or_a_profile_stops_its_turns(level: str) -> None:
    attempt = arrange()
    attempt.world.switch.set({"tenant": "acme", "surface": "docs"}[level], level)  # type: ignore[arg-type]

    status, problem, _ = attempt.send(STARTING[0])

    assert (status, problem["code"]) == (503, "assistant_disabled")
