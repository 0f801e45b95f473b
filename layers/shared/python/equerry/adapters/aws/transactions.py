"""Several conditional writes as one: all of them happen, or none."""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from equerry.adapters.aws.errors import aws_errors, error_code
from equerry.kernel.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

CONDITION = "ConditionalCheckFailed"
_BUSY = frozenset({"TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"})
_FINE = "None"


def write_together(
    client: "DynamoDBClient", writes: "Sequence[TransactWriteItemTypeDef]", *, what: str
) -> tuple[str, ...]:
    """Write all or nothing; `what` completes "could not ...".

    The client marks the request, so that one whose answer got lost is not written twice.

    Returns:
        Nothing if it was written; else, in the order of `writes`, why each was not ("None" if it could be).

    Raises:
        Unavailable: AWS does not answer; unknown whether it was written.
    """
    with aws_errors(what):
        try:
            client.transact_write_items(TransactItems=writes)
        except ClientError as error:
            if error_code(error) != "TransactionCanceledException":
                raise
            return _read_reasons(error, what)
    return ()


def _read_reasons(error: ClientError, what: str) -> tuple[str, ...]:
    response: Any = error.response
    reasons = tuple(str(reason.get("Code", _FINE)) for reason in response.get("CancellationReasons", ()))
    if not reasons:
        raise Unavailable(f"could not {what}: AWS does not say why") from error
    if set(reasons) - _BUSY - {CONDITION, _FINE}:
        raise error  # malformed, which is a bug of ours
    return reasons
