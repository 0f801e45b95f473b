"""What a run began with, without keeping a text twice."""

import json
from dataclasses import replace

import pytest
from equerry.domain.composition import compose_prompt
from equerry.domain.manifests import build_manifest
from equerry.domain.profiles import Profile
from equerry.engine.assistant import Assistant
from equerry.engine.model import ToolSpec
from equerry.engine.tool import Tool

from tests.unit.services.test_recording import Look

PROFILE = Profile(name="docs", version="v1", title="Docs", identity="You help.", guidance="Search first.")


def describe(profile: Profile = PROFILE, *, nonce: str = "n1", tool: Look | None = None) -> dict[str, object]:
    tools: tuple[Tool, ...] = (tool or Look(),)
    composed = compose_prompt(profile, retrieves=True, nonce=nonce)
    return build_manifest(
        profile,
        Assistant(prompt=composed.join(), tools=tools),
        parts=composed.parts,
        variables={"nonce": nonce},
        history=3,
        release="1+a",
    )


def variant_of(manifest: dict[str, object]) -> tuple[object, object]:
    """Return the variant key, and the hashes of the stable blocks."""
    instructions, blocks = manifest["instructions"], manifest["blocks"]
    assert isinstance(instructions, dict)
    assert isinstance(blocks, list)
    return instructions["variantKey"], [block["sha256"] for block in blocks if block["cached"]]


def test_the_same_variant_key_stands_for_the_same_bytes_from_turn_to_turn() -> None:
    first, second = describe(nonce="n1"), describe(nonce="n2")

    assert variant_of(first) == variant_of(second)
    assert first != second


@pytest.mark.parametrize(
    "changed",
    [
        describe(replace(PROFILE, version="v2", guidance="Guess first.")),
        describe(tool=Look(spec=ToolSpec(name="look", description="Other", input_schema={"type": "object"}))),
    ],
)
def test_another_profile_or_other_tools_are_another_variant(changed: dict[str, object]) -> None:
    assert variant_of(changed)[0] != variant_of(describe())[0]


def test_a_manifest_holds_versions_and_hashes_and_no_instruction() -> None:
    text = json.dumps(describe())

    assert "You help." not in text
    assert "Search first." not in text
    assert "v1" in text
