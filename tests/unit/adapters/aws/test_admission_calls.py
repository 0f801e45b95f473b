"""How often admission asks DynamoDB, and what it does when that is busy or broken."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError
from equerry.adapters.aws.admission import DynamoAdmissionAdapter
from equerry.adapters.aws.clients import AwsClients
from equerry.domain.admission import AdmissionRequest
from equerry.domain.limits import TurnLimits
from equerry.domain.principal import Scope
from equerry.domain.submissions import parse_submission
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ConversationId, OrganisationId, RunId, UserId

from tests.contract.aws_backends import create_table, start_aws
from tests.contract.leasing import create_admissions
from tests.fakes.clock import NOON

ANN = Scope(organisation_id=OrganisationId("acme"), user_id=UserId("ann"))


@dataclass
class Store:
    """Admission over moto, whose answers a test may replace."""

    admissions: DynamoAdmissionAdapter
    clients: AwsClients
    asked: Counter[str]

    def answer(self, operation: str, *answers: Exception | Callable[[Any], Any]) -> None:
        """Let the next calls of an operation fail so, or be answered so."""
        left = list(answers)
        client: Any = self.clients.dynamodb
        real = getattr(client, operation)

        def call(**asked: Any) -> Any:
            if not left:
                return real(**asked)
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer(asked)

        setattr(client, operation, call)


@pytest.fixture
def store() -> Iterator[Store]:
    with start_aws("moto") as _:
        clients, asked = AwsClients(), Counter[str]()
        leases, usage = create_table(clients.dynamodb, sort=None), create_table(clients.dynamodb, sort="S")
        events: Any = clients.dynamodb.meta.events
        events.register("before-call.dynamodb", lambda model, **_: asked.update([model.name]))
        yield Store(create_admissions(clients.dynamodb, leases=leases, usage=usage), clients, asked)


def request(number: int = 1, *, key: str | None = None) -> AdmissionRequest:
    conversation = ConversationId(f"c-{number}")
    return AdmissionRequest(
        scope=ANN,
        conversation_id=conversation,
        run_id=RunId(f"r-{number}"),
        now=NOON,
        until=NOON,
        limits=TurnLimits(),
        submission=parse_submission(key, ANN, conversation, "Well?") if key else None,
    )


def cancelled(*codes: str) -> ClientError:
    error: Any = {"Error": {"Code": "TransactionCanceledException", "Message": ""}}
    error["CancellationReasons"] = [{"Code": code} for code in codes]
    return ClientError(error, "TransactWriteItems")


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "TransactWriteItems")


@pytest.mark.parametrize("key", [None, "k-1"])
def test_a_turn_is_admitted_in_two_round_trips_and_settled_in_one(store: Store, key: str | None) -> None:
    lease = store.admissions.admit(request(key=key)).lease
    assert store.asked == {"BatchGetItem": 1, "TransactWriteItems": 1}
    store.asked.clear()

    store.admissions.settle(lease, spent=7)

    assert store.asked == {"TransactWriteItems": 1}


def test_a_turn_that_is_refused_writes_nothing(store: Store) -> None:
    store.admissions.admit(request())
    store.asked.clear()
    again = AdmissionRequest(
        scope=ANN,
        conversation_id=ConversationId("c-1"),
        run_id=RunId("r-2"),
        now=NOON,
        until=NOON,
        limits=TurnLimits(user_turns_per_minute=1),
    )

    with pytest.raises(Exception, match="within a minute"):
        store.admissions.admit(again)

    assert store.asked == {"BatchGetItem": 1}


@pytest.mark.parametrize(
    "codes", [("None", "TransactionConflict", "None"), ("None", "ConditionalCheckFailed", "None")]
)
def test_a_turn_that_met_another_is_judged_again(store: Store, codes: tuple[str, ...]) -> None:
    store.answer("transact_write_items", cancelled(*codes), cancelled(*codes))

    assert store.admissions.admit(request()).lease.run_id == "r-1"
    assert store.asked == {"BatchGetItem": 3, "TransactWriteItems": 1}


def test_a_settlement_that_met_another_is_tried_again(store: Store) -> None:
    lease = store.admissions.admit(request()).lease
    store.answer("transact_write_items", cancelled("None", "TransactionConflict"))

    assert store.admissions.settle(lease, spent=0)


@pytest.mark.req("A-GUARD-08")
@pytest.mark.parametrize(
    ("operation", "failure"),
    [
        ("batch_get_item", refused("ThrottlingException")),
        ("batch_get_item", refused("InternalServerError")),
        ("transact_write_items", refused("ThrottlingException")),
        ("transact_write_items", refused("TransactionInProgressException")),
        ("transact_write_items", cancelled()),
    ],
)
def test_a_store_that_does_not_answer_admits_nobody(
    store: Store, operation: str, failure: ClientError
) -> None:
    store.answer(operation, failure)

    with pytest.raises(Unavailable):
        store.admissions.admit(request())


def test_a_store_where_everybody_meets_gives_up_in_the_end(store: Store) -> None:
    store.answer("transact_write_items", *[cancelled("TransactionConflict")] * 100)

    with pytest.raises(Unavailable, match="too many others"):
        store.admissions.admit(request())


@pytest.mark.parametrize("failure", [refused("AccessDeniedException"), cancelled("ValidationError", "None")])
def test_a_bug_of_ours_passes_through(store: Store, failure: ClientError) -> None:
    store.answer("transact_write_items", failure)

    with pytest.raises(ClientError):
        store.admissions.admit(request())


def test_what_a_busy_store_did_not_read_is_asked_for_again(store: Store) -> None:
    store.admissions.admit(request(1))
    store.answer("batch_get_item", lambda asked: {"Responses": {}, "UnprocessedKeys": asked["RequestItems"]})

    admitted = store.admissions.admit(request(2))

    assert [standing.remaining for standing in admitted.standings] == [18, 118]
