"""What AWS says when it refuses, in the product's own words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as NoConnection

from equerry.kernel.errors import Conflict, EquerryError, Unavailable

_CONDITION = "ConditionalCheckFailedException"
_BUSY = frozenset(
    {
        "InternalServerError",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


class ConditionFailed(Conflict):
    """A conditional write found something else; `item` is what it found, if it asked and there was any."""

    def __init__(self, what: str, item: Mapping[str, Any] | None) -> None:
        super().__init__(f"could not {what}: it changed meanwhile")
        self.item = item


@contextmanager
def aws_errors(what: str) -> Iterator[None]:
    """Translate what a call raises; `what` completes "could not ...".

    Access denied and malformed requests are bugs of ours and pass through, so that they alarm.

    Raises:
        ConditionFailed: the write's condition did not hold.
        Unavailable: throttled, failed on AWS's side, timed out or not reached; unknown whether it was done.
    """
    try:
        yield
    except ClientError as error:
        foreseen = _foresee(error, what)
        if foreseen is None:
            raise
        raise foreseen from error
    except (NoConnection, HTTPClientError, IncompleteReadError) as error:
        raise Unavailable(f"could not {what}: AWS was not reached ({type(error).__name__})") from error


def error_code(error: ClientError) -> str:
    """Return AWS's own code for a failure."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _foresee(error: ClientError, what: str) -> EquerryError | None:
    code = error_code(error)
    if code == _CONDITION:
        found: Any = error.response.get("Item")
        return ConditionFailed(what, found or None)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _BUSY or status == 429 or status >= 500:
        return Unavailable(f"could not {what}: AWS answered {code or status}")
    return None
