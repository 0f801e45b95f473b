"""What a run's record is told of how it went."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta

from equerry.channel.report import DeliveryReport
from equerry.domain.conversations import RunEnd
from equerry.domain.principal import Scope
from equerry.engine.model import ModelChoice
from equerry.kernel.identifiers import RunId
from equerry.ports.metrics import MetricPort
from equerry.ports.records import RunRecordPort
from equerry.services.measuring import count_facts
from equerry.services.narration import Narrator

logger = logging.getLogger(__name__)

VOLUME_WINDOW = timedelta(hours=24)


def describe_outcome(narrator: Narrator, model: ModelChoice | None) -> Mapping[str, object]:
    """Return the rounds, each with the model that ran it, and what verification made of the citations.

    The model that was wanted is named where another one played a round.
    """
    citations = narrator.citations
    served = {"provider": model.provider, "model": model.model} if model else {}
    stood_in = any(played is not None and played != model for played, _ in narrator.metered)
    return {
        **({"wanted": served} if stood_in else {}),
        "rounds": [served | played for played in narrator.rounds],
        "verification": {
            "citationsVerified": len(citations.refs),
            "citationsRemoved": citations.removed,
            "cited": list(dict.fromkeys(ref.passage_id for ref in citations.refs)),
            "passagesInContext": len(citations.evidence.passage_ids),
        },
        "answerCharacters": len(narrator.text),
    }


def save_report(records: RunRecordPort, scope: Scope, run_id: RunId, report: DeliveryReport) -> None:
    """Keep what became of a run's envelopes; without it, a run that has ended is none the worse."""
    try:
        records.save_deliveries(scope, run_id, _encode(report))
    except Exception:  # noqa: BLE001  # the reader has been told; only who looks later misses something
        logger.warning("deliveries_not_saved", extra={"run_id": run_id})


def watch_volume(
    records: RunRecordPort, metrics: MetricPort, scope: Scope, end: RunEnd, *, most: int
) -> None:
    """Tell operators, once, of the turn with which a person passes `most` characters in 24 hours."""
    added = count_facts(end, "characters")
    if added == 0:
        return
    try:
        retrieved = records.count_retrieved(scope, since=end.ended_at - VOLUME_WINDOW)
    except Exception:  # noqa: BLE001  # watching stops nothing
        logger.warning("volume_not_watched")
        return
    if retrieved - added < most <= retrieved:
        logger.warning("retrieval_outlier", extra={"characters": retrieved, "most": most})
        metrics.record({"RetrievalOutliers": 1})


def _encode(report: DeliveryReport) -> Mapping[str, object]:
    names = {"undelivered_count": "undeliveredCount"}
    return {names.get(name, name): entry for name, entry in asdict(report).items()}
