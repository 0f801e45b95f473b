"""The ladder of intervention: what an operator can stop, from one tool to everything.

Every level is open unless somebody said no, and then shut until somebody says yes.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.kernel.kinds import result, value

SWITCH_KEPT_S = 30
"""How old what is known of a switch may be when it is used."""

NamedLevel = Literal["tenant", "surface", "pack", "tool", "model"]
"""The levels below the platform, at each of which something is stopped by its name."""

NOTHING_OFF = "-"
"""What a level says when everything is on: a parameter cannot be empty."""

_NAME = re.compile(r"""[^\s,"'{}\[\]]{1,256}""")
_DISABLED = {
    "platform": "the assistant is switched off at the moment",
    "tenant": "the assistant is switched off for your organisation at the moment",
    "surface": "this assistant is switched off at the moment",
}


class AssistantDisabled(Unavailable):
    """An operator has turned the assistant off: all of it, for one organisation, or one of its profiles."""

    code = "assistant_disabled"

    def __init__(self, level: Literal["platform", "tenant", "surface"] = "platform") -> None:
        super().__init__(_DISABLED[level], retry_after_s=SWITCH_KEPT_S)
        self.level = level


class ModelSwitchedOff(Unavailable):
    """An operator has turned off the model that was to answer, and no other is there to take its place."""

    code = "model_switched_off"

    def __init__(self) -> None:
        super().__init__(
            "the model that answers here is switched off at the moment", retry_after_s=SWITCH_KEPT_S
        )


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """What is on and off, at every level; each name stops that alone.

    Attributes:
        platform: whether new turns may begin at all.
        tenants: organisations without an assistant.
        surfaces: profiles, or surfaces of the product, that take no questions.
        models: providers (`anthropic`), or single models (`anthropic/claude-x`).
    """

    platform: bool = True
    tenants: frozenset[str] = frozenset()
    surfaces: frozenset[str] = frozenset()
    packs: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()

    def is_tenant_on(self, organisation_id: OrganisationId) -> bool:
        """Whether this organisation has an assistant."""
        return organisation_id not in self.tenants

    def is_surface_on(self, *names: str) -> bool:
        """Whether questions are taken there: neither the profile nor the surface it is on is off."""
        return self.surfaces.isdisjoint(names)

    def is_tool_on(self, tool: str, *, pack: str) -> bool:
        """Whether a tool may be offered and called: neither it nor its pack is off."""
        return tool not in self.tools and pack not in self.packs

    def is_model_on(self, provider: str, model: str) -> bool:
        """Whether a model may be asked: neither it nor its provider is off."""
        return provider not in self.models and f"{provider}/{model}" not in self.models

    def require_platform(self) -> None:
        """Raise AssistantDisabled unless turns are accepted at all."""
        if not self.platform:
            raise AssistantDisabled

    def require_tenant(self, organisation_id: OrganisationId) -> None:
        """Raise AssistantDisabled unless this organisation's turns are."""
        if not self.is_tenant_on(organisation_id):
            raise AssistantDisabled("tenant")

    def require_surface(self, *names: str) -> None:
        """Raise AssistantDisabled unless turns of this profile, on this surface, are."""
        if not self.is_surface_on(*names):
            raise AssistantDisabled("surface")


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchedOff:
    """What one level's setting says: the names in it, and the entries that are none."""

    names: frozenset[str] = frozenset()
    malformed: tuple[str, ...] = field(default=())


def read_switch(text: str | None) -> bool | None:
    """Return what a setting says: on, off, or None if it says neither."""
    match (text or "").strip().lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return None


def read_names(text: str) -> SwitchedOff:
    """Read a level's setting: names with commas between them, or `-` for none."""
    entries = [entry.strip() for entry in text.split(",")]
    if entries == [NOTHING_OFF]:
        return SwitchedOff()
    malformed = tuple(entry for entry in entries if not is_switch_name(entry))
    return SwitchedOff(names=frozenset(entries) - {*malformed}, malformed=malformed)


def is_switch_name(text: str) -> bool:
    """Whether something can be switched by this name."""
    return text != NOTHING_OFF and _NAME.fullmatch(text) is not None
