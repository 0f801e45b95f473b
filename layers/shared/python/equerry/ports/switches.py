"""The switch that stops new turns."""

from typing import Protocol


class SwitchPort(Protocol):
    """One operator's switch."""

    def is_on(self) -> bool:
        """Whether new turns may begin; never older than 30 s, and never raises.

        On where nothing says otherwise. Once it was read as off it stays off until it is read as on: an
        unreadable or meaningless setting changes nothing.
        """
        ...
