"""Switches in memory."""

from dataclasses import replace
from typing import Any, Literal

from equerry.domain.switches import NamedLevel, Switches, read_names, read_switch

_FIELDS = {"tenant": "tenants", "surface": "surfaces", "pack": "packs", "tool": "tools", "model": "models"}


class MemorySwitchAdapter:
    """SwitchPort over settings that a test writes; None cannot be read."""

    def __init__(self) -> None:
        self._switches = Switches()

    def set(self, text: str | None, level: Literal["platform"] | NamedLevel = "platform") -> None:
        """Let a level be read as `text` from here on."""
        if text is None:
            return
        if level == "platform":
            said = read_switch(text)
            self._switches = replace(
                self._switches, platform=self._switches.platform if said is None else said
            )
            return
        off, name = read_names(text), _FIELDS[level]
        kept: frozenset[str] = getattr(self._switches, name) if off.malformed else frozenset()
        changed: dict[str, Any] = {name: off.names | kept}
        self._switches = replace(self._switches, **changed)

    def read(self) -> Switches:
        return self._switches

    def is_on(self) -> bool:
        return self._switches.platform
