"""TypeScript for the channel's vocabulary, from the dataclasses that declare it."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from equerry.channel.control import CONTROL_TYPES
from equerry.channel.envelope import Envelope, PayloadRef
from equerry.channel.events import (
    CONTRACT_VERSION,
    EVENT_TYPES,
    CitationRef,
    ExecutionMode,
    Stage,
    StopReason,
    UiAction,
)
from equerry.kernel.usage import Usage

_PRIMITIVES: Mapping[Any, str] = {str: "string", int: "number", float: "number", bool: "boolean"}
_NAMED: Mapping[type, str] = {CitationRef: "Ref", Usage: "Usage", PayloadRef: "PayloadRef"}
_CHOICES: Mapping[Any, str] = {Stage: "Stage", ExecutionMode: "ExecutionMode", StopReason: "StopReason"}
_SNAKE = re.compile(r"`(\w+_\w+)`")
_HEADER = """\
/**
 * The events of a run and the control frames of its channel, as they stand on the wire.
 *
 * Generated from equerry/channel by `make types`; an edit here is undone by the next run.
 */

/** The version every envelope carries in `v`; a page that meets another one must reload. */
export const CONTRACT_VERSION = {version};
"""


class Untranslatable(TypeError):
    """The vocabulary uses a type that has no form on the wire."""


def write_vocabulary() -> str:
    """Return the whole of `client/src/core/envelopes.ts`; the same declarations give the same bytes."""
    choices = [_choice(name, hint) for hint, name in _CHOICES.items()]
    shared = [write_interface(name, declared) for declared, name in _NAMED.items()]
    events = [write_interface(_payload_name(name), declared) for name, declared in EVENT_TYPES.items()]
    controls = [write_interface(_payload_name(name), declared) for name, declared in CONTROL_TYPES.items()]
    parts = [
        _HEADER.format(version=CONTRACT_VERSION),
        *choices,
        *shared,
        *events,
        *_registry("Event", tuple(EVENT_TYPES)),
        _envelope("EnvelopeOf", "Event", _header_fields()),
        _union("Envelope", "EnvelopeOf", "Event"),
        *controls,
        *_registry("Control", tuple(CONTROL_TYPES)),
        _envelope("ControlOf", "Control", _control_fields()),
        _union("Control", "ControlOf", "Control"),
    ]
    return "\n".join(parts)


_CONTROL_HEADER = {"runId": "string | null", "conversationId": "string | null", "seq": "0"}


def _payload_name(event: str) -> str:
    return "".join(word.capitalize() for word in event.split("_")) + "Payload"


def _choice(name: str, hint: Any) -> str:
    listed = "".join(f'\n  | "{choice}"' for choice in get_args(hint))
    return f"export type {name} ={listed};\n"


def write_interface(name: str, declared: type) -> str:
    """Return the interface of one payload.

    Raises:
        Untranslatable: a field has no form on the wire.
    """
    hints = get_type_hints(declared)
    lines = [_property(declared, field.name, hints[field.name]) for field in fields(declared)]
    if not lines:
        return "\n".join([*_comment(declared), f"export type {name} = Record<string, never>;", ""])
    return "\n".join([*_comment(declared), f"export interface {name} {{", *lines, "}", ""])


def _property(declared: type, name: str, hint: Any) -> str:
    if declared is UiAction and name == "details":  # spread beside the action on the wire
        return "  [detail: string]: unknown;"
    required, optional = _split_optional(hint)
    return f"  {to_camel(name)}{'?' if optional else ''}: {_translate(required)};"


def _comment(declared: type) -> Iterable[str]:
    text = inspect.cleandoc(declared.__doc__ or "").split("\n\n", maxsplit=1)[0]
    text = _SNAKE.sub(lambda found: f"`{to_camel(found[1])}`", text)
    if "\n" not in text:
        return [f"/** {text} */"]
    return ["/**", *(f" * {line}" for line in text.split("\n")), " */"]


def _split_optional(hint: Any) -> tuple[Any, bool]:
    """None on our side is a field that is left out on the wire."""
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        (required,) = (part for part in get_args(hint) if part is not NoneType)
        return required, True
    return hint, False


def _translate(hint: Any) -> str:
    if isinstance(hint, NewType):
        return _translate(hint.__supertype__)
    if hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    if hint in _NAMED:
        return _NAMED[hint]
    if hint in _CHOICES:
        return _CHOICES[hint]
    if hint is datetime:
        return "string"
    if get_origin(hint) is Literal:
        return " | ".join(f'"{choice}"' for choice in get_args(hint))
    if get_origin(hint) is tuple and get_args(hint)[1:] == (Ellipsis,):
        return f"{_translate(get_args(hint)[0])}[]"
    raise Untranslatable(f"{hint!r} has no form on the wire")


def _registry(kind: str, names: Sequence[str]) -> list[str]:
    entries = "".join(f"  {name}: {_payload_name(name)};\n" for name in names)
    listed = "".join(f'  "{name}",\n' for name in names)
    return [
        f"export interface {kind}Payloads {{\n{entries}}}\n",
        f"export type {kind}Type = keyof {kind}Payloads;\n",
        f"export const {kind.upper()}_TYPES: readonly {kind}Type[] = [\n{listed}];\n",
    ]


def _header_fields() -> dict[str, str]:
    hints = get_type_hints(Envelope)
    plain = [field.name for field in fields(Envelope) if field.name not in ("type", "payload")]
    split = {name: _split_optional(hints[name]) for name in plain}
    return {
        to_camel(name) + ("?" if optional else ""): _translate(required)
        for name, (required, optional) in split.items()
    }


def _control_fields() -> dict[str, str]:
    """A control frame is small, and never refers to an artifact."""
    return {name: text for name, text in _header_fields().items() if name[-1] != "?"} | _CONTROL_HEADER


def _envelope(name: str, kind: str, header: Mapping[str, str]) -> str:
    lines = [f"  {field}: {text};" for field, text in header.items()]
    body = "\n".join(["  type: T;", *lines, f"  payload: {kind}Payloads[T];"])
    return f"export interface {name}<T extends {kind}Type> {{\n{body}\n}}\n"


def _union(name: str, generic: str, kind: str) -> str:
    return f"export type {name} = {{ [T in {kind}Type]: {generic}<T> }}[{kind}Type];\n"


def to_camel(name: str) -> str:
    """Return a field's name on the wire."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
