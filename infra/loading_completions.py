"""Reads `[structured_completion]` of a stage: what the two functions may take, and their model profiles."""

import re
from collections.abc import Mapping
from typing import Any

from infra.config import StructuredCompletionConfig
from infra.reading import Reader

_HOST = r"[a-z0-9][a-z0-9.-]*"
_ARM = r"[a-z][a-z-]*(:.+)?"


def load_completions(table: Reader) -> StructuredCompletionConfig:
    """Read `[structured_completion]`; the deadline must leave the function time to say so."""
    timeout_s = table.integer("timeout_s", low=30, high=450, default=420)
    deadline_ms = table.integer("deadline_ms", low=1000, high=450_000, default=400_000)
    if deadline_ms >= timeout_s * 1000:
        table.refuse("deadline_ms", f"must be below timeout_s ({timeout_s} s), got {deadline_ms}")
    return StructuredCompletionConfig(
        enabled=table.flag("enabled", default=True),
        memory_mib=table.integer("memory_mib", low=512, high=10_240, default=1024),
        timeout_s=timeout_s,
        deadline_ms=deadline_ms,
        max_output_tokens=table.integer("max_output_tokens", low=1, high=64_000, default=8000),
        reserved_concurrency=table.integer("reserved_concurrency", low=0, high=1000, default=30) or None,
        document_hosts=table.texts("document_hosts", pattern=_HOST, meaning="hosts of S3 buckets"),
        profiles=_load_profiles(table.table("profiles")),
    )


def _load_profiles(table: Reader) -> Mapping[str, Any]:
    found = {}
    for name in table.names():
        inner = table.table(name)
        arms = inner.texts("arms", pattern=_ARM, meaning="a provider, or provider:start", least=1)
        split = (arm.partition(":") for arm in arms)
        found[name] = {
            "reasoning": inner.choice("reasoning", ("low", "medium", "high"), default="medium"),
            "arms": [{"provider": provider, "takes": takes} for provider, _, takes in split],
        }
        if problem := _find_problem(name, found[name]):
            table.refuse(name, problem)
    return found


def _find_problem(name: str, profile: Mapping[str, Any]) -> str | None:
    for arm in profile["arms"]:
        try:
            re.compile(arm["takes"])
        except re.error:
            return f"{arm['takes']!r} is no regular expression"
    return (
        None
        if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name)
        else "must be words with hyphens between them"
    )
