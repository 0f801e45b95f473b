"""Organisations' standings in PostgreSQL."""

from dataclasses import dataclass
from typing import Any

from equerry.adapters.postgres.connections import PostgresConnections
from equerry.domain.principal import Scope
from equerry.domain.tenancy import Tenancy


@dataclass(frozen=True, slots=True)
class PostgresTenancyAdapter:
    """TenancyPort; operators write the rows, functions only read their caller's."""

    connections: PostgresConnections

    def find_tenancy(self, scope: Scope) -> Tenancy | None:
        """See TenancyPort."""
        with self.connections.transaction(scope) as rows:
            rows.execute(
                "SELECT enabled, surfaces, profiles FROM assistant_tenancies WHERE organisation_id = %s",
                (scope.organisation_id,),
            )
            row = rows.fetchone()
            return read_tenancy(row) if row else None


def read_tenancy(row: dict[str, Any]) -> Tenancy:
    """Build a standing from its columns."""
    return Tenancy(enabled=row["enabled"], surfaces=_names(row["surfaces"]), profiles=_names(row["profiles"]))


def _names(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
