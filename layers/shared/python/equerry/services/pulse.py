"""A worker's pulse: keeps lease and queue message alive, and notices when it should stop."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread

from equerry.domain.leases import Lease, LeaseLost
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable
from equerry.ports.interrupts import InterruptPort
from equerry.ports.leases import LeasePort
from equerry.ports.queue import QueuePort

logger = logging.getLogger(__name__)

ALIVE_S = 30
"""A worker that has not renewed its lease for this long counts as dead."""
HIDDEN_S = 40
"""The message comes back this long after the last beat: later than the lease lapses."""
_RENEW_EVERY_S = 8.0
_LOOK_EVERY_S = 0.5


@dataclass(slots=True)
class Pulse:
    """What the beating thread found; read by the run between and inside its steps."""

    lease: Lease
    interrupted: bool = False
    lost: bool = False
    over: Event = field(default_factory=Event)

    def should_stop(self) -> bool:
        """Whether the person asked to stop, or the run is somebody else's now."""
        return self.interrupted or self.lost


@dataclass(frozen=True, slots=True, kw_only=True)
class PulseService:
    """Beats beside a run in a thread of its own, so that a silent model does not look like a dead worker."""

    leases: LeasePort
    interrupts: InterruptPort
    queue: QueuePort
    clock: Clock

    @contextmanager
    def beat(self, lease: Lease, receipt: str | None) -> Iterator[Pulse]:
        """Keep `lease` and the message alive while the block runs."""
        # Asked once before anything runs: a run that was stopped while it waited must do nothing.
        pulse = Pulse(lease, interrupted=self.interrupts.is_interrupted(lease.run_id))
        self.hide(receipt)
        thread = Thread(target=self._run, args=(pulse, receipt), name="pulse", daemon=True)
        thread.start()
        try:
            yield pulse
        finally:
            pulse.over.set()
            thread.join()

    def _run(self, pulse: Pulse, receipt: str | None) -> None:
        renewed_s = self.clock.monotonic_s()
        while not pulse.over.wait(_LOOK_EVERY_S) and not pulse.lost:
            try:
                if self.clock.monotonic_s() - renewed_s >= _RENEW_EVERY_S:
                    until = self.clock.now() + timedelta(seconds=ALIVE_S)
                    pulse.lease = self.leases.renew(pulse.lease, until=until)
                    self.hide(receipt)
                    renewed_s = self.clock.monotonic_s()
                pulse.interrupted = pulse.interrupted or self.interrupts.is_interrupted(pulse.lease.run_id)
            except LeaseLost:
                pulse.lost = True
            except Unavailable:
                # The next beat tries again; if none gets through, the lease lapses and the log is fenced.
                logger.warning("beat_missed", extra={"run_id": pulse.lease.run_id})

    def hide(self, receipt: str | None) -> None:
        """Have the message come back 40 s from now, should this worker die: the queue's own time is 330 s."""
        if receipt is not None:
            self.queue.hide_message(receipt, seconds=HIDDEN_S)
