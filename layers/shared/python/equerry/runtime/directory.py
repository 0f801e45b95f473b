"""The directory that a stage has."""

from equerry.adapters.aws.clients import AwsClients
from equerry.adapters.aws.secrets import SecretsReader
from equerry.adapters.directory.projects import HttpDirectoryAdapter
from equerry.adapters.directory.recent import RecentDirectoryAdapter
from equerry.adapters.jwt.directory import TokenDirectoryAdapter
from equerry.kernel.clock import Clock
from equerry.ports.directory import DirectoryPort


def build_directory(
    clients: AwsClients, clock: Clock, *, url: str | None, secret_arn: str | None
) -> DirectoryPort:
    """Return the product's directory, or what tokens say where the stage names none.

    Raises:
        ValueError: the address is not safe to believe.
    """
    if url is None:
        return TokenDirectoryAdapter()
    secrets = SecretsReader(clients.secrets, clock)
    asked = HttpDirectoryAdapter(
        url, lambda: None if secret_arn is None else secrets.fetch_secret(secret_arn), clock
    )
    return RecentDirectoryAdapter(asked, clock)
