"""Applies the migrations during the deployment, and fails it with the reason when one does not apply."""

import hashlib
from pathlib import Path

from aws_cdk import CustomResource, Duration
from constructs import Construct, IConstruct
from equerry.runtime.settings import MigratorSettings

from infra.database import Database
from infra.functions import Platform, PythonFunction

_MIGRATIONS = Path(__file__).parents[1] / "migrations"
_TIMEOUT_S = 600


class Migrator(Construct):
    """Runs again whenever a migration or a secret has changed."""

    def __init__(self, scope: Construct, id: str, *, platform: Platform, database: Database) -> None:
        super().__init__(scope, id)
        self.function = PythonFunction(
            self,
            "Function",
            platform=platform,
            handler="migrator.custom_resource.handle",
            memory_mib=512,
            timeout_s=_TIMEOUT_S,
            settings=MigratorSettings(
                equerry_stage=platform.config.stage,
                owner_secret_arn=database.owner_arn,
                runtime_secret_arn=database.runtime.arn,
                platform_secret_arn=database.platform.arn,
                migrations_path=f"{platform.config.data_path}/migrations",
            ),
        ).function
        database.grant_migrate(self.function)
        self._applied = CustomResource(
            self,
            "Applied",
            service_token=self.function.function_arn,
            resource_type="Custom::EquerryMigrations",
            service_timeout=Duration.seconds(_TIMEOUT_S + 30),
            properties={"Migrations": migrations_in(_MIGRATIONS), "Secrets": _secrets(database)},
        )
        self._applied.node.add_dependency(self.function, database)

    def before(self, *constructs: IConstruct) -> None:
        """Hold these back until the schema is there."""
        for construct in constructs:
            construct.node.add_dependency(self._applied)


def migrations_in(folder: Path) -> dict[str, str]:
    """Each migration's name and a hash of its content, in order."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in sorted(folder.glob("*.sql"))
    }


def _secrets(database: Database) -> list[str]:
    """Return what changes whenever a role has another password: the migrator must set it then."""
    roles = [f"{role.arn} {role.content}" for role in (database.runtime, database.platform)]
    return [database.owner_arn, *roles]
