"""Turns waiting for a worker: first in, first out within a conversation."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.queues import DrainedQueue

_MARGIN_S = 30


class TurnQueue(Construct):
    """A message stays hidden for longer than the worker may run, so that no turn runs twice at once."""

    def __init__(self, scope: Construct, id: str, *, key: kms.IKey, worker_timeout_s: int) -> None:
        super().__init__(scope, id)
        turns = DrainedQueue(self, "Turns", key=key, visibility_s=worker_timeout_s + _MARGIN_S, fifo=True)
        self.queue = turns.queue
        self.dead = turns.dead
        self._turns = turns

    def grant_hand_off(self, grantee: iam.IGrantable) -> None:
        """Send a turn to the workers."""
        self._turns.grant_send(grantee)
