"""The part of a stage's file that says who hears of alarms."""

from equerry.domain.retrieval import MOST_CHARACTERS

from infra.config import AlarmsConfig, CostAlarmConfig
from infra.reading import Reader

BILLING_REGION = "us-east-1"
"""The only region that holds AWS/Billing, and so its alarm and its topic."""

_TOPIC = r"arn:aws:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}"
_BILLING_TOPIC = rf"arn:aws:sns:{BILLING_REGION}:\d{{12}}:[A-Za-z0-9_-]{{1,256}}"
_HIGHEST_USD = 10_000_000
_MOST_CHARACTERS = 10_000_000_000


def load_alarms(root: Reader, *, local: bool) -> AlarmsConfig:
    """Read `[alarms]`; nothing is billed on the local stage, so no cost is watched there."""
    table = root.table("alarms")
    cost = _load_cost(table)
    return AlarmsConfig(
        topic_arn=_load_topic(root, table),
        cost=cost if cost.threshold_usd and not local else None,
        retrieved_characters=table.integer(
            "retrieved_characters", low=1, high=_MOST_CHARACTERS, default=MOST_CHARACTERS
        ),
    )


def _load_topic(root: Reader, table: Reader) -> str | None:
    name = "alarm_sns_topic_arn"
    arn = table.text(name, pattern=f"|{_TOPIC}", meaning="the complete ARN of an SNS topic", default="")
    if not arn or arn.count(":") != 5:
        return None
    region, account = arn.split(":")[3:5]
    if root.text("region", default="") != region:
        table.refuse(name, f"must be a topic of the stage's region, got one of {region}")
    given = root.text("account", default="")
    if not given:
        table.refuse(name, "needs `account` to be set, so that no other account's topic is taken for ours")
    elif given != account:
        table.refuse(name, f"must be a topic of account {given}, got one of {account}")
    return arn


def _load_cost(table: Reader) -> CostAlarmConfig:
    return CostAlarmConfig(
        threshold_usd=table.integer("bedrock_monthly_cost_threshold", low=0, high=_HIGHEST_USD, default=500),
        emails=table.texts(
            "cost_alarm_emails", pattern=r"[^@\s]+@[^@\s]+\.[^@\s]+", meaning="e-mail addresses"
        ),
        topic_arn=table.text(
            "cost_alarm_sns_topic_arn",
            pattern=f"|{_BILLING_TOPIC}",
            meaning=f"the complete ARN of an SNS topic in {BILLING_REGION}",
            default="",
        )
        or None,
    )
