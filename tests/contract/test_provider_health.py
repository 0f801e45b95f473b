"""ProviderHealthPort: in memory, in one process, and over DynamoDB."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from equerry.adapters.aws.provider_health import DynamoProviderHealthAdapter
from equerry.adapters.embedded.provider_health import ProcessProviderHealthAdapter
from equerry.domain.breaker import Cooling
from equerry.engine.model import ModelChoice
from equerry.ports.provider_health import ProviderHealthPort

from tests.contract.aws_backends import BACKENDS, create_table, start_aws
from tests.fakes.provider_health import MemoryProviderHealthAdapter

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CLAUDE = ModelChoice(provider="anthropic", model="claude-1")
ARN = ModelChoice(provider="bedrock", model="arn:aws:bedrock:eu-central-1:1:inference-profile/eu.x")
COOLED = Cooling(choice=CLAUDE, until=NOW + timedelta(seconds=15), times=1, cause="overloaded")


@pytest.fixture(params=["memory", "process", *BACKENDS])
def health(request: pytest.FixtureRequest) -> Iterator[ProviderHealthPort]:
    if request.param in ("memory", "process"):
        yield MemoryProviderHealthAdapter() if request.param == "memory" else ProcessProviderHealthAdapter()
        return
    with start_aws(request.param) as clients:
        table = create_table(clients.dynamodb, sort="S")
        yield DynamoProviderHealthAdapter(clients.dynamodb, table)


def test_everything_is_well_until_it_is_cooled(health: ProviderHealthPort) -> None:
    assert health.list_cooled() == ()

    health.cool(COOLED)
    health.cool(replace(COOLED, choice=ARN))

    assert set(health.list_cooled()) == {COOLED, replace(COOLED, choice=ARN)}


def test_of_two_spells_the_later_end_stands(health: ProviderHealthPort) -> None:
    longer = replace(COOLED, until=COOLED.until + timedelta(seconds=30), times=2)

    health.cool(longer)
    health.cool(COOLED)

    assert health.list_cooled() == (longer,)


def test_what_is_well_again_is_forgotten_once_or_twice(health: ProviderHealthPort) -> None:
    health.cool(COOLED)

    health.clear(CLAUDE)
    health.clear(CLAUDE)

    assert health.list_cooled() == ()


@pytest.mark.req("F-LAT-04")
def test_one_of_many_tries_a_model_whose_spell_is_over(health: ProviderHealthPort) -> None:
    health.cool(COOLED)
    until = COOLED.until + timedelta(seconds=30)

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(lambda _: health.claim_probe(COOLED, until=until), range(4)))

    assert sorted(won) == [False, False, False, True]
    assert health.list_cooled() == (replace(COOLED, until=until),)


def test_nobody_tries_what_has_been_cleared_meanwhile(health: ProviderHealthPort) -> None:
    health.cool(COOLED)
    health.clear(CLAUDE)

    assert not health.claim_probe(COOLED, until=NOW + timedelta(hours=1))
    assert health.list_cooled() == ()
