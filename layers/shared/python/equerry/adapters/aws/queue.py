"""The queue of accepted runs, in SQS."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from equerry.adapters.aws.errors import aws_errors, error_code
from equerry.kernel.identifiers import ConversationId, RunId

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LONGEST_HIDING_S = 43_200
"""SQS hides no message for longer than twelve hours."""
_STALE = frozenset(
    {"ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"}
)


class SqsQueueAdapter:
    """QueuePort over a FIFO queue: one group a conversation, one deduplication id a run.

    `find_traceparent` names the trace that the worker goes on with.
    """

    def __init__(
        self,
        client: "SQSClient",
        queue_url: str,
        find_traceparent: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._client = client
        self._queue_url = queue_url
        self._find_traceparent = find_traceparent

    def enqueue_run(self, run_id: RunId, conversation_id: ConversationId) -> None:
        """Keep QueuePort's promise."""
        body = {"runId": run_id, "conversationId": conversation_id}
        if traceparent := self._find_traceparent():
            body["traceparent"] = traceparent
        with aws_errors(f"enqueue run {run_id}"):
            self._client.send_message(
                QueueUrl=self._queue_url,
                MessageBody=json.dumps(body),
                MessageGroupId=conversation_id,
                MessageDeduplicationId=run_id,
            )

    def hide_message(self, receipt: str, *, seconds: int) -> None:
        """Keep QueuePort's promise.

        Raises:
            ValueError: `seconds` is not in 0 to 43,200.
        """
        if not 0 <= seconds <= LONGEST_HIDING_S:
            raise ValueError(f"seconds must be 0 to {LONGEST_HIDING_S}, got {seconds}")
        try:
            with aws_errors("hide a message"):
                self._client.change_message_visibility(
                    QueueUrl=self._queue_url, ReceiptHandle=receipt, VisibilityTimeout=seconds
                )
        except ClientError as error:
            if not _is_stale(error):
                raise


def _is_stale(error: ClientError) -> bool:
    if error_code(error) in _STALE:
        return True
    # A receipt that expired is "InvalidParameterValue", as is a bad queue or number of ours.
    message = error.response["Error"].get("Message", "").lower().replace(" ", "")
    return error_code(error).startswith("InvalidParameterValue") and "receipthandle" in message
