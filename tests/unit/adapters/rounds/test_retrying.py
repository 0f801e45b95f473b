import pytest
from equerry.adapters.rounds.failures import AttemptFailed
from equerry.adapters.rounds.retrying import RetryPolicy
from equerry.ports.model import ModelUnavailable

POLICY = RetryPolicy()


def failed(*, retryable: bool = True, retry_after_s: float | None = None) -> AttemptFailed:
    return AttemptFailed(ModelUnavailable("busy"), retryable=retryable, retry_after_s=retry_after_s)


def wait_s(
    failure: AttemptFailed, *, attempt: int = 1, left_s: float = 60.0, jitter: float = 0.0
) -> float | None:
    return POLICY.find_wait_s(failure, attempt=attempt, left_s=left_s, jitter=lambda: jitter)


@pytest.mark.req("A-GEM-13")
def test_waits_double_up_to_a_bound_and_jitter_takes_up_to_half() -> None:
    assert [wait_s(failed(), attempt=attempt, jitter=1.0) for attempt in (1, 2, 3)] == [0.5, 1.0, 2.0]
    assert wait_s(failed(), jitter=0.0) == 0.25
    patient = RetryPolicy(attempts=9)
    assert patient.find_wait_s(failed(), attempt=7, left_s=60.0, jitter=lambda: 1.0) == 8.0


def test_there_are_four_attempts() -> None:
    assert wait_s(failed(), attempt=3) is not None
    assert wait_s(failed(), attempt=4) is None


def test_what_cannot_pass_is_not_waited_for() -> None:
    assert wait_s(failed(retryable=False)) is None


@pytest.mark.parametrize(("left_s", "expected"), [(25.0, 20.0), (24.9, None)])
def test_retry_after_counts_only_if_a_useful_attempt_fits_after_it(
    left_s: float, expected: float | None
) -> None:
    assert wait_s(failed(retry_after_s=20), left_s=left_s) == expected


def test_a_retry_after_shorter_than_the_backoff_does_not_shorten_it() -> None:
    assert wait_s(failed(retry_after_s=0.01), attempt=3, jitter=1.0) == 2.0
