"""What a stage says of how long data lives, and of whom it asks about organisations."""

from equerry.domain.retention import LONGEST_DAYS, SHORTEST_ACTION_DAYS, SHORTEST_CONVERSATION_DAYS

from infra.config import IdentityConfig, RetentionConfig
from infra.reading import Reader

WEEKLY = "cron(0 15 ? * SUN *)"
_FUNCTION = r"arn:aws[\w-]*:lambda:[a-z0-9-]+:\d{12}:function:[\w-]+:[\w-]+"


def load_retention(table: Reader) -> RetentionConfig:
    """Read the table `[retention]`; problems are the table's."""
    return RetentionConfig(
        schedule_expression=table.text(
            "schedule_expression",
            pattern=r"(cron|rate)\(.+\)",
            meaning="cron(...) or rate(...)",
            default=WEEKLY,
        ),
        conversation_days=table.integer(
            "conversation_days", low=SHORTEST_CONVERSATION_DAYS, high=LONGEST_DAYS, default=365
        ),
        action_days=table.integer("action_days", low=SHORTEST_ACTION_DAYS, high=LONGEST_DAYS, default=730),
        superseded_days=table.integer("superseded_days", low=1, high=LONGEST_DAYS, default=30),
        purge_after_days=table.integer("purge_after_days", low=1, high=LONGEST_DAYS, default=90),
        export=table.flag("export", default=False),
    )


def load_identity(table: Reader, *, local: bool) -> IdentityConfig:
    """Read the table `[identity]`; problems are the table's."""
    if local:
        return IdentityConfig(
            service_url=table.text("service_url", default="http://127.0.0.1:3308"),
            minting=table.text("minting", default="http://127.0.0.1:3308/service-token"),
        )
    return IdentityConfig(
        service_url=table.text(
            "service_url", pattern=r"https://[^\s]+", meaning="the https address of the identity service"
        ),
        minting=table.text(
            "minting", pattern=_FUNCTION, meaning="the ARN of an alias such as mint-for-assistant-offboarding"
        ),
    )
