"""PostgreSQL and its three roles' secrets: Aurora, or an address for the local stage."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secrets
from constructs import Construct

from infra.config import AuroraDatabase, StageConfig
from infra.nag import acknowledge
from infra.network import Network
from infra.secrets import ROTATION_REASON, Endpoint, RoleSecret, grant_secret_read, secret_arn

NAME = "equerry_assistant"
OWNER = "equerry_owner"
_ENGINE = rds.DatabaseClusterEngine.aurora_postgres(version=rds.AuroraPostgresEngineVersion.VER_18_4)


class Database(Construct):
    """The truth; `owner` migrates, `runtime` serves, `platform` crosses tenants."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint: Endpoint,
        owner: secrets.Secret,
        key: kms.IKey,
        removal: RemovalPolicy,
    ) -> None:
        super().__init__(scope, id)
        self._owner = owner
        self.owner_arn = secret_arn(owner)
        self.runtime = RoleSecret(
            self, "Runtime", username="equerry_runtime", endpoint=endpoint, key=key, removal=removal
        )
        self.platform = RoleSecret(
            self, "Platform", username="equerry_platform", endpoint=endpoint, key=key, removal=removal
        )

    def grant_migrate(self, grantee: iam.IGrantable) -> None:
        """All three secrets: the migrator connects as the owner and sets the others' passwords."""
        grant_secret_read(self._owner, grantee)
        self.runtime.grant_read(grantee)
        self.platform.grant_read(grantee)


class Aurora(Construct):
    """Aurora PostgreSQL Serverless v2: encrypted, TLS only, backed up."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        database: AuroraDatabase,
        network: Network,
        key: kms.IKey,
        config: StageConfig,
    ) -> None:
        super().__init__(scope, id)
        self.secret = rds.DatabaseSecret(self, "Owner", username=OWNER, dbname=NAME, encryption_key=key)
        acknowledge(self.secret, "AwsSolutions-SMG4", reason=ROTATION_REASON)
        self.cluster = rds.DatabaseCluster(
            self,
            "Cluster",
            engine=_ENGINE,
            credentials=rds.Credentials.from_secret(self.secret),
            default_database_name=NAME,
            writer=rds.ClusterInstance.serverless_v2("Writer"),
            serverless_v2_min_capacity=database.min_capacity,
            serverless_v2_max_capacity=database.max_capacity,
            serverless_v2_auto_pause_duration=_pause(database),
            vpc=network.vpc,
            vpc_subnets=network.data,
            storage_encrypted=True,
            storage_encryption_key=key,
            parameter_group=rds.ParameterGroup(
                self, "Parameters", engine=_ENGINE, parameters={"rds.force_ssl": "1"}
            ),
            backup=rds.BackupProps(retention=Duration.days(database.backup_retention_days)),
            deletion_protection=config.production,
            removal_policy=RemovalPolicy.SNAPSHOT if config.production else RemovalPolicy.DESTROY,
            copy_tags_to_snapshot=True,
        )
        self.cluster.connections.allow_default_port_from(network.functions, "Equerry functions")
        acknowledge(
            self.cluster,
            "AwsSolutions-RDS6",
            reason="Each role signs in with its own generated secret over TLS; row-level security needs them",
        )

    def endpoint(self) -> Endpoint:
        """The writer's address."""
        address = self.cluster.cluster_endpoint
        return Endpoint(host=address.hostname, port=str(address.port), name=NAME)


def _pause(database: AuroraDatabase) -> Duration | None:
    return None if database.min_capacity else Duration.minutes(database.auto_pause_minutes)
