"""The database, at the address and under the role that a secret names."""

from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.secrets import SecretsReader
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.connections import PoolBounds, PostgresConnections
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable
from equerry.ports.directory import DirectoryPort

CONNECTIONS: Final = 2
"""Of each role, in a container; which role a function has is a matter of its secret."""
CHECKOUT_S: Final = 5.0
"""Whoever waits for an answer hears that there is none long before API Gateway gives up at 29 s."""
WAKING_S: Final = 45.0
"""A database that paused takes some 15 s to come back, after a day 30 s or more: a schedule waits for it."""


class DatabaseUnknown(Exception):
    """A function cannot be told where its database is, and so does not start."""


def open_database(
    clients: AwsClients,
    secret_arn: str,
    clock: Clock,
    *,
    silence_s: float = 10.0,
    checkout_s: float = CHECKOUT_S,
    directory: DirectoryPort | None = None,
) -> PostgresConnections:
    """Return a pool that connects at first use and reads the secret then.

    Whoever serves people says which directory knows their projects.

    `silence_s` and `checkout_s` suit those whom a person waits for: the first ends a statement after 8 s.
    """
    secrets = SecretsReader(clients.secrets, clock)
    return PostgresConnections(
        lambda: DatabaseAddress.from_secret(secrets.fetch_secret(secret_arn)),
        bounds=PoolBounds(max_size=CONNECTIONS, checkout_s=checkout_s),
        silence_s=silence_s,
        directory=directory,
    )


def require_database(database: PostgresConnections) -> None:
    """Read where the database is, while the function starts.

    Raises:
        DatabaseUnknown: its secret cannot be read, or is not an address.
    """
    try:
        database.require_address()
    except (Unavailable, ValueError, ClientError, BotoCoreError) as failure:
        raise DatabaseUnknown(f"the secret of DATABASE_SECRET_ARN cannot be loaded: {failure}") from failure
