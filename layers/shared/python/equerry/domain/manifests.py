"""What a run began with, for its record: versions, hashes and what varies, so that no text is kept twice."""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from json import dumps

from equerry.domain.composition import PromptPart
from equerry.domain.profiles import Profile
from equerry.engine.assistant import Assistant
from equerry.engine.model import ToolSpec


def build_manifest(
    profile: Profile,
    assistant: Assistant,
    *,
    parts: Sequence[PromptPart],
    variables: Mapping[str, object],
    history: int,
    release: str,
    cooled: Collection[str] = (),
) -> dict[str, object]:
    """Return what a run is composed of.

    Args:
        parts: of the instructions, in the order in which they were composed.
        variables: what the instructions hold of this turn alone.
        history: messages of the transcript that it sees.
        cooled: tools that nobody who answers now could call, because who could is left alone.
        release: which code composed it; with the profile's version it resolves the instructions.
    """
    registry = [_describe_tool(spec) for spec in assistant.specs]
    return {
        "release": release,
        "taskClass": profile.task_class,
        "instructions": {
            "profile": profile.name,
            "version": profile.version,
            "variantKey": derive_variant_key(profile, assistant.specs, release),
            "variables": dict(variables),
        },
        "blocks": [_describe_part(part) for part in parts],
        "tools": registry,
        "withheld": _list_withheld(profile, assistant, cooled),
        "corpora": ["*"] if profile.corpora is None else list(profile.corpora),
        "registrySha256": _hash(dumps(registry, sort_keys=True)),
        "activations": [],
        "grounding": [],
        "historyMessages": history,
        "limits": _describe_limits(assistant),
    }


def derive_variant_key(profile: Profile, specs: Sequence[ToolSpec], release: str) -> str:
    """Return the key of the instructions' stable part, 16 hexadecimal digits: same key, same bytes."""
    parts = [release, profile.name, profile.version, *(f"{spec.name} {_hash_schema(spec)}" for spec in specs)]
    return _hash("\x1f".join(parts))[:16]


def _describe_part(part: PromptPart) -> Mapping[str, object]:
    return {
        "name": part.name,
        "characters": len(part.text),
        "sha256": _hash(part.text),
        "cached": part.is_stable,
    }


def _list_withheld(
    profile: Profile, assistant: Assistant, cooled: Collection[str]
) -> list[Mapping[str, object]]:
    """Return the profile's tools that were not offered: they are off, or who answers cannot call them."""
    offered = {spec.name for spec in assistant.specs}
    return [
        {"name": name, "reason": "providers_cooled" if name in cooled else "switched_off"}
        for name in profile.tools
        if name not in offered
    ]


def _describe_tool(spec: ToolSpec) -> Mapping[str, object]:
    return {"name": spec.name, "schemaSha256": _hash_schema(spec)}


def _describe_limits(assistant: Assistant) -> Mapping[str, object]:
    limits = assistant.limits
    return {
        "rounds": limits.rounds,
        "toolCalls": limits.tool_calls,
        "wallS": limits.wall_s,
        "roundOutputTokens": limits.round_output_tokens,
        "inputTokens": limits.input_tokens,
        "outputTokens": limits.output_tokens,
    }


def _hash_schema(spec: ToolSpec) -> str:
    return _hash(dumps([spec.description, spec.input_schema], sort_keys=True))[:16]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
