"""The daily sweep."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct
from equerry.runtime.settings import RetentionSettings

from infra.database import Database
from infra.functions import Platform, PythonFunction
from infra.uploads import Uploads


class Retention(Construct):
    """Runs once a day under the platform role, which crosses tenants."""

    def __init__(
        self, scope: Construct, id: str, *, platform: Platform, database: Database, uploads: Uploads
    ) -> None:
        super().__init__(scope, id)
        config = platform.config
        sweeper = PythonFunction(
            self,
            "Retention",
            platform=platform,
            handler="retention.handler.handle",
            memory_mib=512,
            timeout_s=840,
            settings=RetentionSettings(
                equerry_stage=config.stage,
                database_secret_arn=database.platform.arn,
                uploads_bucket=uploads.bucket.bucket_name,
                conversation_retention_days=config.limits.conversation_retention_days,
            ),
        )
        self.function = sweeper.function
        database.platform.grant_read(self.function)
        uploads.grant_sweep(self.function)
        target = targets.LambdaFunction(sweeper.live, retry_attempts=2)
        events.Rule(self, "EachDay", schedule=events.Schedule.rate(Duration.days(1)), targets=[target])
