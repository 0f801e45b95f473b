"""Requests to stop a run, seen by whichever process runs it."""

from typing import Protocol

from equerry.kernel.identifiers import RunId


class InterruptPort(Protocol):
    """One flag a run."""

    def request_interrupt(self, run_id: RunId) -> None:
        """Ask the run to stop; asking twice is asking once."""
        ...

    def is_interrupted(self, run_id: RunId) -> bool:
        """Whether somebody asked (strongly consistent)."""
        ...

    def clear_interrupt(self, run_id: RunId) -> None:
        """Forget the request, at run end."""
        ...
