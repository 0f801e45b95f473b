"""InterruptPort: over memory and over DynamoDB."""

from collections.abc import Iterator

import pytest
from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.kernel.identifiers import RunId
from equerry.ports.interrupts import InterruptPort

from tests.contract.aws_backends import BACKENDS, create_table, start_aws
from tests.fakes.clock import FixedClock
from tests.fakes.interrupts import MemoryInterruptAdapter

R, S = RunId("r-1"), RunId("r-2")


@pytest.fixture(params=["memory", *BACKENDS])
def interrupts(request: pytest.FixtureRequest) -> Iterator[InterruptPort]:
    if request.param == "memory":
        yield MemoryInterruptAdapter()
        return
    with start_aws(request.param) as clients:
        table = create_table(clients.dynamodb, sort="S")
        yield DynamoInterruptAdapter(clients.dynamodb, table, FixedClock())


def test_a_run_is_interrupted_once_somebody_asked(interrupts: InterruptPort) -> None:
    before = interrupts.is_interrupted(R)
    interrupts.request_interrupt(R)
    interrupts.request_interrupt(R)

    assert (before, interrupts.is_interrupted(R), interrupts.is_interrupted(S)) == (False, True, False)


def test_a_cleared_request_is_forgotten(interrupts: InterruptPort) -> None:
    interrupts.request_interrupt(R)
    interrupts.request_interrupt(S)

    interrupts.clear_interrupt(R)
    interrupts.clear_interrupt(R)

    assert (interrupts.is_interrupted(R), interrupts.is_interrupted(S)) == (False, True)
