"""Reads `[model]` of a stage: who answers, who stands in, and where their keys are."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from equerry.domain import prices, retirements
from equerry.domain.routing import PURPOSES
from equerry.runtime.models import KEYED, LIVE

from infra import config
from infra.model_evaluations import EVALUATIONS, describe_lack, find_admitted
from infra.reading import Reader

_HTTPS = r"https://[^\s]+"
_ANY_HTTP = r"https?://[^\s]+"
_PAIR = r"extractive|[a-z-]+/[^,\s]+"
_PRICE = "prices like openai/gpt-x input=1 output=5 cache_read=0.1 cache_write=1.25 on=2026-11-30"
_LAST_DAY = "last days like openai/gpt-x 2027-01-31"
_SECRET = r"arn:aws[a-z-]*:secretsmanager:.+"


def load_model(table: Reader, *, local: config.LocalConfig | None) -> config.ModelConfig:
    """Read `[model]`."""
    provider = table.choice("provider", ("extractive", *LIVE, "fixture"), default="extractive")
    if provider == "fixture" and not local:
        table.refuse(
            "provider",
            "'fixture' answers from a script and is for the local stage only; use another",
        )
    address = _ANY_HTTP if local else _HTTPS
    found = config.ModelConfig(
        provider=cast("config.ModelProvider", provider),
        id=table.text("id", default=None, meaning="the provider's model id"),
        secret_arn=table.text("secret_arn", pattern=_SECRET, meaning="a Secrets Manager ARN", default=None),
        base_url=table.text("base_url", pattern=address, meaning="an https address", default=None),
        by_parameter=table.flag("by_parameter", default=False),
        allowed=table.texts("allowed", pattern=_PAIR, meaning="pairs like anthropic/claude-x"),
        fallbacks=table.texts("fallbacks", pattern=_PAIR, meaning="pairs like anthropic/claude-x"),
        purposes=_by_name(table, "purposes", PURPOSES, pattern=_PAIR, meaning="a pair like bedrock/nova-x"),
        reasoning=_by_name(
            table, "reasoning", PURPOSES, pattern="low|medium|high", meaning="low, medium or high"
        ),
        secrets=_by_name(table, "secrets", KEYED, pattern=_SECRET, meaning="a Secrets Manager ARN"),
        base_urls=_by_name(table, "base_urls", LIVE, pattern=address, meaning="an https address"),
        evaluations=None,
        prices=table.texts("prices", pattern=prices.STATED, meaning=_PRICE),
        retirements=table.texts("retirements", pattern=retirements.STATED, meaning=_LAST_DAY),
        guardrail=table.text("guardrail", pattern=r"[^,\s]+:[^,:\s]+", meaning="id:version", default=None),
    )
    _require_readable(table, "prices", found.prices, prices.parse_price)
    _require_readable(table, "retirements", found.retirements, retirements.parse_retirement)
    needed = {"id": found.id} if provider in LIVE else {}
    if provider in KEYED:
        needed["secret_arn"] = found.secret_arn
    for name, entry in needed.items():
        if entry is None:
            table.refuse(name, f"is missing; the {provider} provider needs it")
    return found if local else replace(found, evaluations=_admit(table, found))


def _admit(table: Reader, model: config.ModelConfig) -> dict[str, str]:
    """Return the evaluation of each pair that is named; one that has none is a problem."""
    folder = Path(table.text("evaluations", meaning="a folder", default=str(EVALUATIONS)))
    try:
        admitted = find_admitted(folder)
    except ValueError as error:
        table.refuse("evaluations", str(error))
        return {}
    for pair in model.pairs:
        if pair not in admitted:
            table.refuse(pair, f"{describe_lack(folder, pair)}: run `equerry models check {pair}`")
    return {pair: admitted[pair] for pair in model.pairs if pair in admitted}


def _require_readable(
    table: Reader, name: str, entries: Sequence[str], parse: Callable[[str], object]
) -> None:
    """A day that no calendar has looks like any other."""
    for entry in entries:
        try:
            parse(entry)
        except ValueError as error:
            table.refuse(name, f"{entry!r} cannot be read: {error}")


def _by_name(table: Reader, name: str, known: Sequence[str], *, pattern: str, meaning: str) -> dict[str, str]:
    inner = table.table(name)
    found = {each: inner.text(each, pattern=pattern, meaning=meaning, default=None) for each in known}
    return {each: text for each, text in found.items() if text is not None}
