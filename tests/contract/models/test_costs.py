"""What a round costs, out of each provider's own count of it."""

from decimal import Decimal

import pytest
from equerry.domain.pricing import LISTED
from equerry.engine.model import ModelChoice

from tests.contract.models.requests import ask, collect, end_of
from tests.contract.models.subjects import ANTHROPIC, BEDROCK, GOOGLE, OPENAI, Kit

PRICED = [
    # 331 tokens in, of which 300 were cached and 20 written where that is told; 42 out, reasoning among them
    (ANTHROPIC, "claude-haiku-4-5", "11*1 + 300*0.1 + 20*1.25 + 42*5"),
    (OPENAI, "gpt-5.6-sol", "11*4 + 300*0.4 + 20*5 + 42*20"),
    (BEDROCK, "eu.anthropic.claude-haiku-4-5-20251001-v1:0", "11*1.1 + 300*0.11 + 20*1.375 + 42*5.5"),
    (GOOGLE, "gemini-2.5-flash", "31*0.3 + 300*0.03 + 42*2.5"),
]


def add_up(sum_: str) -> Decimal:
    factors = (part.split("*") for part in sum_.split(" + "))
    return sum((Decimal(tokens) * Decimal(price) for tokens, price in factors), Decimal(0)) / 1_000_000


@pytest.mark.parametrize(("kit", "model", "expected"), PRICED, ids=lambda each: getattr(each, "name", None))
@pytest.mark.req("F-GATE-01", "F-GATE-05")
def test_cached_written_and_reasoning_tokens_each_have_their_price(
    kit: Kit, model: str, expected: str
) -> None:
    with kit.serve() as server, kit.connect(server) as adapter:
        server.play(kit.call)
        usage = end_of(collect(adapter, ask())).usage

    cost = LISTED.find_cost(ModelChoice(provider=kit.name, model=model), usage)

    assert cost is not None
    assert cost.usd == add_up(expected)
