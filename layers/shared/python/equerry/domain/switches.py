"""Switches that an operator turns: open unless somebody said no, and then shut until somebody says yes."""

from equerry.kernel.errors import Unavailable

SWITCH_KEPT_S = 30
"""How old what is known of a switch may be when it is used."""


class AssistantDisabled(Unavailable):
    """An operator has turned the assistant off."""

    code = "assistant_disabled"

    def __init__(self) -> None:
        super().__init__("the assistant is switched off at the moment", retry_after_s=SWITCH_KEPT_S)


def read_switch(text: str | None) -> bool | None:
    """Return what a setting says: on, off, or None if it says neither."""
    match (text or "").strip().lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return None
