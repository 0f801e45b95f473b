"""What became of a run's envelopes is counted, and stays small."""

import pytest
from equerry.channel.report import MOST_UNDELIVERED, DeliveryOutcome, DeliveryReport

LOST = DeliveryOutcome(gone=1, failed=1)


@pytest.mark.req("F-ENV-09")
def test_each_envelope_is_counted_by_what_became_of_it() -> None:
    report = DeliveryReport()
    outcomes = [DeliveryOutcome(), DeliveryOutcome(reached=2), LOST, DeliveryOutcome(reached=1, gone=1)]
    for seq, outcome in enumerate(outcomes, start=1):
        report = report.add(seq, outcome)

    assert report == DeliveryReport(
        envelopes=4, unheard=1, reached=3, gone=2, failed=1, undelivered_count=1, undelivered=(3,)
    )


def test_of_many_that_reached_nobody_the_first_are_named_and_all_are_counted() -> None:
    report = DeliveryReport()
    for seq in range(1, 2_001):
        report = report.add(seq, LOST)

    assert report.undelivered == tuple(range(1, MOST_UNDELIVERED + 1))
    assert report.undelivered_count == 2_000
