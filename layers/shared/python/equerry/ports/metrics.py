"""What an operator counts and measures; nothing in it tells of a person or an organisation."""

from collections.abc import Mapping
from typing import Literal, Protocol

MetricName = Literal[
    "Turns",
    "TurnErrors",
    "TurnTruncated",
    "TurnFirstTokenMs",
    "TurnCompleteMs",
    "TokensSpent",
    "CacheHitRatePct",
    "Refusals",
    "RateLimited",
    "BudgetExhausted",
    "RetentionPurged",
    "OrgOffboardPurge",
    "PassagesRetrieved",
    "CharactersRetrieved",
    "RetrievalOutliers",
    "SwitchUnparseable",
    "ModelRetiring",
    "ModelGone",
]
"""Turns             turns that ended, however they ended
TurnErrors        of these, those that ended with an error or were interrupted
TurnTruncated     of these, those that a limit cut off
TurnFirstTokenMs  from a turn's acceptance to the first text its readers were sent
TurnCompleteMs    from a turn's acceptance to its end
TokensSpent       input and output together
CacheHitRatePct   input tokens a provider read from its cache, of all input tokens, 0 to 100
Refusals          turns a model or provider declined to answer
RateLimited       turns refused because somebody asked too often
BudgetExhausted   turns refused because the tokens of the window are spent
RetentionPurged   conversations, passages, documents, audit rows and counters a sweep removed
OrgOffboardPurge  organisations whose data was purged
PassagesRetrieved    passages that tools gave a turn, of those that were given any
CharactersRetrieved  the length of their text
RetrievalOutliers    turns with which a person passed what one person may have retrieved in a day
SwitchUnparseable readings of a switch that say nothing, so that it does nothing
ModelRetiring     models in use whose provider will take them away soon, once an hour a process
ModelGone         requests for a model that its provider does not have
"""

TurnShape = Literal["context", "retrieval", "tools"]
"""What a turn did for its answer: had it in its context, found passages, or used other tools alone."""


class MetricPort(Protocol):
    """Telemetry never stops what it tells of."""

    def record(
        self,
        measures: Mapping[MetricName, float],
        *,
        profile: str | None = None,
        model: str | None = None,
        shape: TurnShape | None = None,
    ) -> None:
        """Count or measure once; what cannot be recorded is lost, and this never raises.

        A count is added to the others, usually 1; a name's unit is in it: Ms, Pct, else a count. Profile with
        model, and shape, each split a measure further; the whole is kept as well.
        """
        ...
