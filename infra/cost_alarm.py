"""The account's month at Amazon Bedrock: a stack of its own, for only one region knows what is billed."""

from aws_cdk import App, CfnOutput, Duration, Environment, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.alarm_topic import AlarmTopic
from infra.config import CostAlarmConfig, StageConfig
from infra.loading_alarms import BILLING_REGION

_REFRESHED = Duration.hours(6)
"""AWS updates what it estimates several times a day; a shorter period has gaps."""


def add_cost_alarm(app: App, *, config: StageConfig) -> "CostAlarm | None":
    """Add the stack, where the stage wants one."""
    if config.alarms.cost is None:
        return None
    place = Environment(account=config.account, region=BILLING_REGION)
    return CostAlarm(app, f"Equerry-{config.stage}-Cost", config=config, cost=config.alarms.cost, env=place)


class CostAlarm(Stack):
    """Rings when the month to date exceeds the threshold; counts the whole account, whatever else uses it."""

    def __init__(
        self, scope: Construct, id: str, *, config: StageConfig, cost: CostAlarmConfig, env: Environment
    ) -> None:
        super().__init__(scope, id, env=env, termination_protection=config.production)
        alarm = cloudwatch.Alarm(
            self,
            "BedrockMonth",
            metric=cloudwatch.Metric(
                namespace="AWS/Billing",
                metric_name="EstimatedCharges",
                dimensions_map={"ServiceName": "AmazonBedrock", "Currency": "USD"},
                statistic=cloudwatch.Stats.MAXIMUM,
                period=_REFRESHED,
            ),
            threshold=cost.threshold_usd,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=f"Amazon Bedrock costs this account over {cost.threshold_usd} USD this month.",
        )
        topic = self._topic(cost, prefix=f"equerry-{config.stage}")
        if topic:
            alarm.add_alarm_action(actions.SnsAction(topic))
            alarm.add_ok_action(actions.SnsAction(topic))
            CfnOutput(self, "CostTopicArn", value=topic.topic_arn)

    def _topic(self, cost: CostAlarmConfig, *, prefix: str) -> sns.ITopic | None:
        if cost.topic_arn:
            return sns.Topic.from_topic_arn(self, "Given", cost.topic_arn)
        if not cost.emails:
            return None
        topic = AlarmTopic(self, "Alerts", name=f"{prefix}-cost-alerts").topic
        for address in dict.fromkeys(cost.emails):
            topic.add_subscription(subscriptions.EmailSubscription(address))
        return topic
