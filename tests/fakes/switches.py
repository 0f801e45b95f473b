"""A switch in memory."""

from equerry.domain.switches import read_switch


class MemorySwitchAdapter:
    """SwitchPort over a setting that a test writes; None cannot be read."""

    def __init__(self) -> None:
        self._off = False

    def set(self, text: str | None) -> None:
        """Let the switch be read as `text` from here on."""
        said = read_switch(text)
        if said is not None:
            self._off = not said

    def is_on(self) -> bool:
        return not self._off
