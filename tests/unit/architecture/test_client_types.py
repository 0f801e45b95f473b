"""The client's types are what the server declares, and a drift fails the check."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

import pytest
from equerry.channel.control import CONTROL_TYPES, encode_control
from equerry.channel.envelope import Envelope, PayloadRef, describe_event
from equerry.channel.events import CONTRACT_VERSION, EVENT_TYPES, UiAction
from equerry.kernel.identifiers import ArtifactId, ConversationId, RunId

from local.codegen.__main__ import main
from local.codegen.typescript import Untranslatable, write_interface, write_vocabulary
from local.places import ROOT

COMMITTED = ROOT / "client/src/core/envelopes.ts"
INTERFACE = re.compile(r"export interface (\w+)(?:<[^>]*>)? \{\n(.*?)\}", re.DOTALL)


@dataclass(frozen=True)
class Unspeakable:
    """Holds what JSON has no word for."""

    handle: object


def build_example(hint: Any, *, whole: bool) -> Any:
    """Return a value of the type; `whole` fills in what may be left out."""
    if isinstance(hint, NewType):
        return build_example(hint.__supertype__, whole=whole)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        wanted = [f.name for f in fields(hint) if whole or f.default is MISSING is f.default_factory]
        return hint(**{name: build_example(hints[name], whole=whole) for name in wanted})  # type: ignore[operator]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return parts[0]
    if origin in (Union, UnionType):
        return build_example(parts[0], whole=whole)
    if origin is tuple:
        return (build_example(parts[0], whole=whole),)
    return {str: "words", int: 1, bool: True}.get(hint, {})


def list_interfaces(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for name, body in INTERFACE.findall(text):
        yield name, dict(re.findall(r"^  (\w+\??): (.+);$", body, re.MULTILINE))


def check_fields(payload: dict[str, object], declared: dict[str, str]) -> None:
    assert set(payload) <= {name.rstrip("?") for name in declared}
    assert {name for name in declared if not name.endswith("?")} <= set(payload)


@pytest.mark.req("F-ENV-02")
def test_the_committed_types_are_what_the_declarations_generate() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == write_vocabulary()


@pytest.mark.req("F-ENV-02")
@pytest.mark.parametrize("whole", [True, False], ids=["every field", "required fields"])
@pytest.mark.parametrize("name", EVENT_TYPES)
def test_what_the_server_sends_has_the_fields_the_client_is_told(name: str, *, whole: bool) -> None:
    declared = dict(list_interfaces(write_vocabulary()))
    _, payload = describe_event(build_example(EVENT_TYPES[name], whole=whole))

    if EVENT_TYPES[name] is not UiAction:  # whose details are whatever the action needs
        check_fields(payload, declared["".join(part.capitalize() for part in name.split("_")) + "Payload"])


@pytest.mark.parametrize("name", CONTROL_TYPES)
def test_control_frames_have_the_fields_the_client_is_told(name: str) -> None:
    declared = dict(list_interfaces(write_vocabulary()))
    frame = encode_control(build_example(CONTROL_TYPES[name], whole=True), at=datetime.now(UTC))

    assert frame["type"] == name
    payload = frame["payload"]
    assert isinstance(payload, dict)
    check_fields(payload, declared.get(f"{name.capitalize()}Payload", {}))


@pytest.mark.req("F-ENV-02")
def test_both_sides_share_one_version_and_one_header() -> None:
    declared = dict(list_interfaces(write_vocabulary()))
    sent = Envelope(
        type="token",
        run_id=RunId("r"),
        conversation_id=ConversationId("c"),
        seq=1,
        at=datetime.now(UTC),
        payload={},
    )
    reference = PayloadRef(artifact_id=ArtifactId("a"), size_bytes=1)

    assert set(sent.to_wire()) == set(declared["ControlOf"])
    check_fields(sent.to_wire(), declared["EnvelopeOf"])
    check_fields(replace(sent, payload_ref=reference).to_wire(), declared["EnvelopeOf"])
    assert f"CONTRACT_VERSION = {CONTRACT_VERSION};" in write_vocabulary()


@pytest.mark.req("F-ENV-02")
def test_an_edited_file_fails_the_check_and_is_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "client/src/core/envelopes.ts"
    main(["types"], tmp_path)
    written = copy.read_text(encoding="utf-8")
    copy.write_text(written.replace("delta: string", "text: string"), encoding="utf-8")

    assert main(["types", "--check"], tmp_path) == 1
    assert "make types" in capsys.readouterr().err
    assert main(["types"], tmp_path) == 0
    assert main(["types", "--check"], tmp_path) == 0
    assert copy.read_text(encoding="utf-8") == written


def test_a_field_that_has_no_form_on_the_wire_is_refused() -> None:
    with pytest.raises(Untranslatable, match="object"):
        write_interface("Unspeakable", Unspeakable)
