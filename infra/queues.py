"""A queue with its dead-letter queue; no queue is made in any other way."""

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.key import grant_key
from infra.nag import acknowledge

_RECEIVES = 3


class DrainedQueue(Construct):
    """Encrypted, TLS only; what fails three times is kept for two weeks in `dead`."""

    def __init__(
        self, scope: Construct, id: str, *, key: kms.IKey, visibility_s: int, fifo: bool = False
    ) -> None:
        super().__init__(scope, id)
        self._key = key
        self.dead = sqs.Queue(
            self,
            "Dead",
            fifo=fifo or None,
            encryption=sqs.QueueEncryption.KMS,
            encryption_master_key=key,
            enforce_ssl=True,
            retention_period=Duration.days(14),
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            fifo=fifo or None,
            content_based_deduplication=False if fifo else None,
            encryption=sqs.QueueEncryption.KMS,
            encryption_master_key=key,
            enforce_ssl=True,
            visibility_timeout=Duration.seconds(visibility_s),
            retention_period=Duration.days(4),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=_RECEIVES),
        )
        acknowledge(
            self.dead, "AwsSolutions-SQS3", reason="This is the dead-letter queue of the queue beside it"
        )

    def grant_send(self, grantee: iam.IGrantable) -> None:
        """SendMessage, and the key through SQS."""
        iam.Grant.add_to_principal(
            grantee=grantee, actions=["sqs:SendMessage"], resource_arns=[self.queue.queue_arn]
        )
        grant_key(grantee, self._key, "GenerateDataKey", "Decrypt", via="sqs")
