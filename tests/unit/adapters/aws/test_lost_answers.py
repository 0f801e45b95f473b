"""A write was done, its answer got lost, and the client sent it again: it must recognise itself."""

import itertools
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.replay_log import DynamoReplayLogAdapter
from equerry.channel.envelope import Envelope
from equerry.channel.marker import Marker
from equerry.domain.leases import LeaseLost
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import ConversationId, OrganisationId, RunId, UserId
from equerry.ports.delivery import EnvelopeExists

from tests.contract.aws_backends import create_table, new_identifier, start_aws
from tests.contract.leasing import create_lease_book
from tests.fakes.clock import NOON

C, R = ConversationId("c-1"), RunId("r-1")
SCOPE = Scope(organisation_id=OrganisationId("acme"), user_id=UserId("ann"))
LATER = NOON + timedelta(seconds=330)


@pytest.fixture
def clients() -> Iterator[AwsClients]:
    with start_aws("moto") as clients:
        yield clients


@pytest.fixture
def lose_answer(clients: AwsClients) -> Iterator[Callable[[str], list[int]]]:
    """Let the answer to the next call of an operation get lost; returns how often it was sent."""
    registered: list[tuple[str, Any]] = []

    def lose(operation: str) -> list[int]:
        sent: list[int] = []

        def resend(**_: object) -> int | None:
            sent.append(len(sent))
            return 0 if len(sent) == 1 else None

        name = f"needs-retry.dynamodb.{operation}"
        events: Any = clients.dynamodb.meta.events  # its stub forgets that handlers may answer
        events.register_first(name, resend)
        registered.append((name, resend))
        return sent

    yield lose
    for name, handler in registered:
        clients.dynamodb.meta.events.unregister(name, handler)


def envelope(delta: str = "word") -> Envelope:
    return Envelope(type="token", run_id=R, conversation_id=C, seq=1, at=NOON, payload={"delta": delta})


def test_a_claim_whose_answer_was_lost_is_held(
    clients: AwsClients, lose_answer: Callable[[str], list[int]]
) -> None:
    leases = create_lease_book(clients.dynamodb)
    leases.acquire(C, R, SCOPE, until=LATER)

    sent = lose_answer("UpdateItem")
    claimed = leases.claim(C, R, now=NOON, until=LATER)

    assert len(sent) >= 2
    assert (claimed.token, leases.find_lease(C)) == (1, claimed)


def test_a_claim_that_really_lost_stays_lost(
    clients: AwsClients, lose_answer: Callable[[str], list[int]]
) -> None:
    leases = create_lease_book(clients.dynamodb)
    leases.acquire(C, R, SCOPE, until=LATER)
    claimed = leases.claim(C, R, now=NOON, until=LATER)

    lose_answer("UpdateItem")
    with pytest.raises(LeaseLost):
        leases.claim(C, R, now=NOON, until=LATER)

    assert leases.find_lease(C) == claimed


def test_an_admission_whose_answer_was_lost_is_held(
    clients: AwsClients, lose_answer: Callable[[str], list[int]]
) -> None:
    leases = create_lease_book(clients.dynamodb)

    sent = lose_answer("TransactWriteItems")

    assert leases.acquire(C, R, SCOPE, until=LATER) == leases.find_lease(C)
    assert len(sent) >= 2


def test_a_renewal_whose_answer_was_lost_is_held(
    clients: AwsClients, lose_answer: Callable[[str], list[int]]
) -> None:
    leases = create_lease_book(clients.dynamodb)
    leases.acquire(C, R, SCOPE, until=LATER)
    claimed = leases.claim(C, R, now=NOON, until=NOON)

    lose_answer("UpdateItem")

    assert leases.renew(claimed, until=LATER).until == LATER


def test_an_envelope_whose_answer_was_lost_is_logged(
    clients: AwsClients, lose_answer: Callable[[str], list[int]]
) -> None:
    log = DynamoReplayLogAdapter(clients.dynamodb, create_table(clients.dynamodb, sort="N"), new_identifier)

    sent = lose_answer("PutItem")
    log.append(envelope())

    assert len(sent) >= 2
    assert log.read(Marker(R), limit=9) == (envelope(),)


def test_another_writers_envelope_is_not_taken_for_a_lost_answer(
    clients: AwsClients, lose_answer: Callable[[str], list[int]]
) -> None:
    table = create_table(clients.dynamodb, sort="N")
    numbers = itertools.count()
    first, second = (
        DynamoReplayLogAdapter(clients.dynamodb, table, lambda: f"append-{next(numbers)}") for _ in range(2)
    )
    first.append(envelope())

    lose_answer("PutItem")
    with pytest.raises(EnvelopeExists):
        second.append(envelope())
