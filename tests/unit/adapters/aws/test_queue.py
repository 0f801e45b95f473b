"""Which receipts SQS calls stale, and which of its refusals are bugs of ours."""

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.queue import SqsQueueAdapter
from equerry.kernel.errors import Unavailable

EXPIRED = "Value AQEB for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."


def hide(code: str, message: str = "", status: int = 400) -> None:
    client = AwsClients().sqs
    with Stubber(client) as stubbed:
        stubbed.add_client_error("change_message_visibility", code, message, status)
        SqsQueueAdapter(client, "https://sqs.us-east-1.amazonaws.com/1/turns.fifo").hide_message(
            "AQEB", seconds=9
        )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ReceiptHandleIsInvalid", ""),
        ("MessageNotInflight", ""),
        ("AWS.SimpleQueueService.MessageNotInflight", ""),
        ("InvalidParameterValue", EXPIRED),
        ("InvalidParameterValueException", EXPIRED),
    ],
)
def test_a_stale_receipt_is_ignored(code: str, message: str) -> None:
    hide(code, message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("InvalidParameterValue", "Value 9 for parameter VisibilityTimeout is invalid."),
        ("QueueDoesNotExist", ""),
        ("AccessDenied", ""),
    ],
)
def test_another_refusal_is_our_bug(code: str, message: str) -> None:
    with pytest.raises(ClientError):
        hide(code, message)


def test_a_busy_queue_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        hide("RequestThrottled")
