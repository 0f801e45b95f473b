"""Wires the migrator: roles with their passwords first, then the migrations that need them."""

import os
from collections.abc import Mapping
from pathlib import Path

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.secrets import SecretsReader
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.migrations import apply_migrations
from equerry.adapters.postgres.roles import PLATFORM, RUNTIME, ensure_roles
from equerry.runtime.clock import SystemClock
from equerry.runtime.observability import logger
from equerry.runtime.settings import MigratorSettings


def migrate(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Bring the database to this version's schema and return the migrations that were applied.

    Raises:
        MigrationEdited: an applied migration has changed since; nothing was applied.
        Unavailable: a secret could not be read.
    """
    import psycopg

    settings = MigratorSettings.from_env(environ)
    secrets = SecretsReader(AwsClients().secrets, SystemClock())
    owner = DatabaseAddress.from_secret(secrets.fetch_secret(settings.owner_secret_arn))
    passwords = {
        role: DatabaseAddress.from_secret(secrets.fetch_secret(arn)).password
        for role, arn in ((RUNTIME, settings.runtime_secret_arn), (PLATFORM, settings.platform_secret_arn))
    }
    with psycopg.connect(owner.format_url(), autocommit=True) as session:
        ensure_roles(session, passwords)
    applied = apply_migrations(owner.format_url(), Path(settings.migrations_path))
    logger.info("migrations_applied", extra={"applied": applied})
    return applied
