"""The database, at the address and under the role that a secret names."""

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.secrets import SecretsReader
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.connections import PostgresConnections
from equerry.kernel.clock import Clock


def open_database(
    clients: AwsClients, secret_arn: str, clock: Clock, *, silence_s: float = 10.0
) -> PostgresConnections:
    """Return a pool that connects at first use and reads the secret then.

    `silence_s` suits those whom a person waits for: it ends a statement after 8 s.
    """
    secrets = SecretsReader(clients.secrets, clock)
    return PostgresConnections(
        lambda: DatabaseAddress.from_secret(secrets.fetch_secret(secret_arn)), silence_s=silence_s
    )
