"""The switches by which an operator stops one thing, or everything."""

from typing import Protocol

from equerry.domain.switches import Switches


class SwitchPort(Protocol):
    """The operator's switches, on all levels."""

    def read(self) -> Switches:
        """Return what is on and off; never older than 30 s, and never raises. Cheap enough for every call.

        On where nothing says otherwise. What was once read as off stays off until its level is read again,
        whole, and says that it is on: an unreadable or meaningless setting turns nothing on.
        """
        ...

    def is_on(self) -> bool:
        """Whether new turns may begin at all: the platform's switch, as `read` has it."""
        ...
