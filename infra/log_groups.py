"""Log groups: encrypted, and forgotten after the stage's retention."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.config import StageConfig

RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}
"""What a stage may choose, in days."""


def expiring_log_group(scope: Construct, id: str, *, key: kms.IKey, config: StageConfig) -> logs.LogGroup:
    """A log group under the stage's key and retention."""
    return logs.LogGroup(
        scope,
        id,
        retention=RETENTION[config.limits.log_retention_days],
        encryption_key=key,
        removal_policy=RemovalPolicy.DESTROY,
    )
