"""What ends the life of data: the scheduled run, and what operators ask for by hand."""

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from constructs import Construct
from equerry.runtime.settings import RetentionSettings

from infra.database import Database
from infra.functions import Platform, PythonFunction
from infra.tables import Tables
from infra.uploads import Uploads


class Retention(Construct):
    """Runs on its schedule, one at a time, under the platform role, which crosses tenants."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        platform: Platform,
        database: Database,
        tables: Tables,
        uploads: Uploads,
    ) -> None:
        super().__init__(scope, id)
        keeping, identity = platform.config.retention, platform.config.identity
        keeper = PythonFunction(
            self,
            "Retention",
            platform=platform,
            handler="retention.handler.handle",
            memory_mib=512,
            timeout_s=900,
            # A retry that overlaps the run it repeats must not race its purge.
            reserved_concurrency=1,
            settings=RetentionSettings(
                equerry_stage=platform.config.stage,
                database_secret_arn=database.platform.arn,
                service_mint_arn=identity.minting,
                identity_service_url=identity.service_url,
                leases_table=tables.leases.table.table_name,
                connections_table=tables.connections.table.table_name,
                replay_table=tables.replay.table.table_name,
                run_flags_table=tables.run_flags.table.table_name,
                usage_table=tables.usage.table.table_name,
                uploads_bucket=uploads.bucket.bucket_name,
                assistant_conversation_retention_days=keeping.conversation_days,
                assistant_action_retention_days=keeping.action_days,
                superseded_version_retention_days=keeping.superseded_days,
                org_offboarding_purge_after_days=keeping.purge_after_days,
                org_offboarding_export=keeping.export,
            ),
        )
        self.function = keeper.function
        database.platform.grant_read(self.function)
        uploads.grant_sweep(self.function)
        tables.grant_forget(self.function)
        self._grant_minting(identity.minting)
        target = targets.LambdaFunction(keeper.live, retry_attempts=2)
        schedule = events.Schedule.expression(keeping.schedule_expression)
        events.Rule(self, "Scheduled", schedule=schedule, targets=[target])

    def _grant_minting(self, minting: str) -> None:
        """Call the product's minting alias, and no other function; the local stage has none."""
        if minting.startswith("arn:"):
            self.function.add_to_role_policy(
                iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[minting])
            )
