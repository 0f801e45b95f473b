"""The one place that opens the database, and the one way to a cursor: a transaction that says who asks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.errors import database_errors
from equerry.domain.principal import Scope
from equerry.kernel.identifiers import OrganisationId
from equerry.kernel.kinds import value
from equerry.ports.directory import DirectoryPort

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg_pool import ConnectionPool

    from equerry.adapters.postgres.patience import PatientConnection

    Rows = Cursor[dict[str, Any]]
    Pool = ConnectionPool[PatientConnection]

SETTINGS = ("app.organisation_id", "app.user_id", "app.project_ids", "app.role")
# In the transaction, not at connecting: a proxy takes no options, and pins a session that sets its own.
# The second limit frees the rows of a caller that was lost with its machine, which says no goodbye.
_LIMITS = ("statement_timeout", "idle_in_transaction_session_timeout")
_SET = "SELECT " + ", ".join(f"set_config('{name}', %s, true)" for name in (*SETTINGS, *_LIMITS))
_CHECK_S = 2.0
"""How long a pooled connection may take to say that it lives."""
_HEAD_START_S = 2.0
"""A slow statement is ended by the server this long before we would take the server for hung."""


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBounds:
    """What a process takes of the database.

    Attributes:
        max_size: connections at most; a container serves one request at a time and needs few.
        checkout_s: how long to wait for one before the request is refused as Unavailable; 2 or more.
    """

    max_size: int
    checkout_s: float


class PostgresConnections:
    """A pool that opens at first use; safe to share between threads.

    Args:
        find_address: called for each new connection, so that a rotated password is picked up.
        bounds: how many connections, and for how long one is waited for; the driver's own unless given.
        silence_s: how long the server may say nothing to a statement before it counts as hung; more than 2.
            With the time to find a connection, well below the 29 s after which API Gateway gives up.
        directory: knows who belongs to which projects; without one, what the scope says holds.
    """

    def __init__(
        self,
        find_address: Callable[[], DatabaseAddress],
        *,
        bounds: PoolBounds | None = None,
        silence_s: float = 10.0,
        directory: DirectoryPort | None = None,
    ) -> None:
        self._find_address = find_address
        self._bounds = bounds
        self._silence_s = silence_s
        self._directory = directory
        self._lock = Lock()
        self._pool: Pool | None = None

    @contextmanager
    def transaction(self, scope: Scope, *, within_s: float | None = None) -> Iterator["Rows"]:
        """Yield a cursor in a transaction of this principal's; commits on exit, rolls back on an error.

        Their projects are asked for each time, before a connection is taken.

        Args:
            within_s: how long a statement may take, at most what every statement may.

        Raises:
            Unavailable: nobody can say which projects they belong to, no connection came in time, or the
                database failed in a way that may pass.
        """
        found = scope.project_ids if self._directory is None else self._directory.list_projects(scope)
        if any("," in project for project in found):
            raise ValueError("a project id must not hold a comma: the database splits them there")
        settings = (scope.organisation_id, scope.user_id, ",".join(found), scope.role)
        with self._begin(settings, within_s=within_s) as rows:
            yield rows

    @contextmanager
    def keeping(self, scope: Scope) -> Iterator["Rows"]:
        """Yield a cursor to write down how a run of this person's goes, whichever projects they have left.

        They read what is written so once they belong to all of its projects. Raises Unavailable as above.
        """
        with self._begin((scope.organisation_id, scope.user_id, "", "keeper")) as rows:
            yield rows

    @contextmanager
    def indexing(self, organisation_id: OrganisationId) -> Iterator["Rows"]:
        """Yield a cursor of the indexer's: sees and maintains all documents of one organisation."""
        with self._begin((organisation_id, "", "", "indexer")) as rows:
            yield rows

    @contextmanager
    def across_tenants(self) -> Iterator["Rows"]:
        """Yield a cursor without a tenant; only the platform role's policies then show anything."""
        with self._begin(("", "", "", "")) as rows:
            yield rows

    def require_address(self) -> None:
        """Raise what keeps us from knowing where the database is, and as whom to enter it."""
        self._find_address()

    def close(self) -> None:
        """Close every connection; the next transaction opens the pool again."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def _begin(self, settings: tuple[str, ...], *, within_s: float | None = None) -> Iterator["Rows"]:
        with (
            database_errors(),
            self._check_out() as connection,
            connection.transaction(),
            connection.cursor() as rows,
        ):
            longest_s = self._silence_s - _HEAD_START_S
            limit_ms = int(1000 * (longest_s if within_s is None else min(within_s, longest_s)))
            rows.execute(_SET, (*settings, str(limit_ms), str(int(self._silence_s * 1000))))
            yield rows

    @contextmanager
    def _check_out(self) -> Iterator["PatientConnection"]:
        pool = self._open()
        connection = self._find_alive(pool)
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _find_alive(self, pool: "Pool") -> "PatientConnection":
        """Return a connection that answers; there are at most as many dead ones as the pool holds.

        The pool's own check waits longer and longer after each dead one: after a failover, past the time-out.
        """
        from psycopg import OperationalError

        for _ in range(pool.max_size):
            connection = pool.getconn()
            connection.silence_s = _CHECK_S
            try:
                pool.check_connection(connection)
            except OperationalError:
                pool.putconn(connection)
            else:
                connection.silence_s = self._silence_s
                return connection
        return pool.getconn()

    def _open(self) -> "Pool":
        from psycopg_pool import ConnectionPool

        from equerry.adapters.postgres.patience import PatientConnection

        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    connection_class=PatientConnection,
                    kwargs=self._describe,
                    open=True,
                    **(_bound(self._bounds) if self._bounds else {}),
                )
            return self._pool

    def _describe(self) -> dict[str, Any]:
        from psycopg.rows import dict_row

        address = self._find_address()
        return {
            "host": address.host,
            "port": address.port,
            "dbname": address.dbname,
            "user": address.username,
            "password": address.password,
            "sslmode": address.sslmode,
            **({"connect_timeout": max(2, int(self._bounds.checkout_s))} if self._bounds else {}),
            "application_name": "equerry",
            # A host that is gone, which a writer that sends nothing would not notice.
            "keepalives_idle": 10,
            "keepalives_interval": 3,
            "keepalives_count": 3,
            "tcp_user_timeout": int(self._silence_s * 1000),
            "row_factory": dict_row,
            # A proxy pins a session that prepares statements, and a generic plan cannot know the tenant.
            "prepare_threshold": None,
        }


def _bound(bounds: PoolBounds) -> dict[str, Any]:
    return {
        "min_size": 0,
        "max_size": bounds.max_size,
        "timeout": bounds.checkout_s,
        # Gives up as early as whoever waits: a longer back-off would outlast the outage.
        "reconnect_timeout": bounds.checkout_s,
        "max_idle": 300.0,
        "num_workers": 1,
    }
