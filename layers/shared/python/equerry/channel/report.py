"""What became of published envelopes on their way to the sockets."""

from dataclasses import dataclass, replace

from equerry.kernel.kinds import result

MOST_UNDELIVERED = 50
"""Numbers kept of envelopes that no socket got; of more only the count is known."""


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOutcome:
    """How many sockets one envelope reached; nobody listened if all are 0.

    Attributes:
        gone: sockets that had closed, and are forgotten now.
        failed: sockets that did not take it, or, with nothing else counted, 1 for a list of listeners
            that could not be had.
    """

    reached: int = 0
    gone: int = 0
    failed: int = 0


@result
@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryReport:
    """What became of a run's envelopes so far; all of them are in the log.

    Attributes:
        envelopes: how many were published.
        unheard: of those, how many while nobody listened.
        reached, gone, failed: frames, over all envelopes and sockets.
        undelivered_count: envelopes that reached no socket although somebody listened.
        undelivered: the first 50 of those, by seq.
    """

    envelopes: int = 0
    unheard: int = 0
    reached: int = 0
    gone: int = 0
    failed: int = 0
    undelivered_count: int = 0
    undelivered: tuple[int, ...] = ()

    def add(self, seq: int, outcome: DeliveryOutcome) -> "DeliveryReport":
        """Return the report with one more envelope."""
        missed = outcome.gone + outcome.failed
        lost = missed > 0 and outcome.reached == 0
        return replace(
            self,
            envelopes=self.envelopes + 1,
            unheard=self.unheard + (outcome.reached + missed == 0),
            reached=self.reached + outcome.reached,
            gone=self.gone + outcome.gone,
            failed=self.failed + outcome.failed,
            undelivered_count=self.undelivered_count + lost,
            undelivered=(*self.undelivered, seq)[:MOST_UNDELIVERED] if lost else self.undelivered,
        )
