"""Stopping runs: whoever asks, from whichever page and process."""

from contextlib import suppress
from dataclasses import dataclass

from equerry.domain.conversations import Run
from equerry.domain.principal import Scope
from equerry.kernel.errors import NotFound
from equerry.kernel.identifiers import ConversationId, RunId
from equerry.ports.interrupts import InterruptPort
from equerry.ports.leases import LeasePort
from equerry.ports.transcripts import RunPort
from equerry.services.settlement import Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingService:
    """Asks runs to stop."""

    runs: RunPort
    leases: LeasePort
    interrupts: InterruptPort
    recovery: Settlement

    def stop(self, scope: Scope, run_id: RunId) -> Run:
        """Ask a run to stop; one that no worker has taken yet ends at once, one that has ended stays so.

        Returns the run as it is then.

        Raises:
            NotFound: unknown, or not this scope's.
        """
        run = self.runs.fetch_run(scope, run_id)
        if run.status == "ended":
            return run
        # The flag first: a worker that takes the run from here on finds it before it does anything.
        self.interrupts.request_interrupt(run_id)
        if run.mode == "queued" and self.recovery.end_unclaimed(run):
            return self.runs.fetch_run(scope, run_id)
        return run

    def stop_live(self, scope: Scope, conversation_id: ConversationId) -> None:
        """Ask the run that has a conversation of this scope's to stop, if there is one."""
        held = self.leases.find_lease(conversation_id)
        if held is not None:
            # A run may have its lease before it is written, and for a while if its entry point died there.
            with suppress(NotFound):
                self.stop(scope, held.run_id)
