"""The pool: bounded, patient for five seconds at most, and back after an outage."""

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from equerry.adapters.postgres.addresses import DatabaseAddress
from equerry.adapters.postgres.connections import PoolBounds, PostgresConnections
from equerry.domain.principal import Scope
from equerry.kernel.errors import Unavailable
from equerry.runtime.database import open_database, require_database
from psycopg_pool import ConnectionPool

from local.places import ROOT
from local.ports import find_free_port
from local.postgres import EmbeddedPostgres
from tests.contract.aws_backends import start_aws
from tests.contract.databases import Database, build_database, build_scope
from tests.fakes.clock import FixedClock
from tests.faults.plans import Once, Vanish
from tests.faults.postgres_proxy import serve_postgres_proxy

pytestmark = pytest.mark.postgres

SCOPE = build_scope("org-pool")
BOUNDS = PoolBounds(max_size=2, checkout_s=5.0)
INSERT = (
    "INSERT INTO assistant_conversations"
    " VALUES (gen_random_uuid(), 'org-pool', 'ada', 'docs', '', now(), now())"
)


GATEWAY_GIVES_UP_S = 29.0


def ask(connections: PostgresConnections, scope: Scope = SCOPE) -> str:
    with connections.transaction(scope) as rows:
        row = rows.execute("SELECT equerry_user() AS user").fetchone()
        assert row is not None
        return str(row["user"])


def rename(connections: PostgresConnections, title: str, *then: str) -> int:
    """Change every title and do something more in the same transaction; return how many changed."""
    with connections.transaction(SCOPE) as rows:
        changed = rows.execute("UPDATE assistant_conversations SET title = %s", (title,)).rowcount
        for statement in then:
            rows.execute(statement)
    return changed


def run(connections: PostgresConnections, statement: str, *values: object) -> None:
    """Run one statement in a transaction of its own."""
    with connections.transaction(SCOPE) as rows:
        rows.execute(statement, values)


def end_sessions(database: Database) -> None:
    with psycopg.connect(database.superuser_url, autocommit=True) as session:
        session.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'equerry_runtime'"
            " AND datname = %s",
            (database.name,),
        )


@pytest.mark.req("A-POOL-02")
def test_a_checkout_that_takes_too_long_says_when_to_try_again(database: Database) -> None:
    connections = database.connect(max_size=1, timeout_s=0.3)
    with connections.transaction(SCOPE), pytest.raises(Unavailable) as refused:
        ask(connections)
    connections.close()

    assert refused.value.retry_after_s == 5


def open_container(role: str, address: DatabaseAddress) -> tuple[PostgresConnections, str]:
    """Return what a function's process opens, and the secret it was given, over a store of secrets."""
    with start_aws("moto") as clients:
        text = json.dumps({**asdict(address), "engine": "postgres"})
        arn = clients.secrets.create_secret(Name=f"{role}-{uuid4()}", SecretString=text)["ARN"]
        connections = open_database(clients, arn, FixedClock())
        require_database(connections)
        return connections, arn


@pytest.mark.req("A-POOL-01", "A-POOL-02")
@pytest.mark.parametrize("role", ["equerry_runtime", "equerry_platform"])
def test_a_container_opens_two_connections_of_a_role_and_waits_five_seconds(
    database: Database, role: str
) -> None:
    connections, _ = open_container(role, database.address(role))
    pool = connections._open()
    try:
        with connections.across_tenants(), connections.across_tenants():
            assert pool.get_stats()["pool_size"] == 2
        assert (pool.min_size, pool.max_size, pool.timeout) == (0, 2, 5.0)
    finally:
        connections.close()


@pytest.mark.parametrize("role", ["equerry_runtime", "equerry_platform"])
def test_a_session_that_nobody_uses_ends_so_that_the_database_may_pause(
    database: Database, role: str
) -> None:
    connections = database.connect(role)
    with connections.across_tenants() as rows:
        shown = rows.execute("SHOW idle_session_timeout").fetchone()
    connections.close()

    assert shown == {"idle_session_timeout": "5min"}


@pytest.mark.req("A-POOL-03")
def test_a_tool_without_bounds_has_the_driver_s_own(database: Database) -> None:
    connections = PostgresConnections(lambda: database.address("equerry_runtime"))
    pool = connections._open()
    theirs = ConnectionPool(open=False)
    try:
        for name in ("min_size", "max_size", "timeout", "reconnect_timeout", "max_idle", "num_workers"):
            assert getattr(pool, name) == getattr(theirs, name)
        assert ask(connections) == "ada"
    finally:
        connections.close()


@pytest.mark.req("A-POOL-03")
def test_only_functions_bound_their_pools_and_tools_connect_as_the_driver_does() -> None:
    bounding = {
        path.relative_to(ROOT).as_posix()
        for folder in ("local", "bench", "layers/shared/python/equerry")
        for path in (ROOT / folder).rglob("*.py")
        if "PoolBounds(" in path.read_text(encoding="utf-8")
    }

    assert bounding == {"layers/shared/python/equerry/runtime/database.py"}


def test_after_a_failover_every_dead_connection_is_replaced_without_waiting(database: Database) -> None:
    connections = database.connect(max_size=8)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: ask(connections), range(40)))

    end_sessions(database)
    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda _: ask(connections), range(12)))

    # The driver's own way to replace them waits past the time-out of a checkout.
    assert answers == ["ada"] * 12
    connections.close()


def test_a_dropped_connection_is_replaced_at_the_next_checkout(database: Database) -> None:
    connections = database.connect(max_size=2)
    assert ask(connections) == "ada"

    end_sessions(database)

    assert ask(connections) == "ada"
    connections.close()


def test_a_connection_that_dies_in_mid_transaction_is_unavailable_and_writes_nothing(
    database: Database,
) -> None:
    connections = database.connect()

    def write_while_the_session_ends() -> None:
        with connections.transaction(SCOPE) as rows:
            rows.execute(INSERT)
            end_sessions(database)
            rows.execute("SELECT 1")

    with pytest.raises(Unavailable) as refused:
        write_while_the_session_ends()

    with connections.transaction(SCOPE) as rows:
        assert rows.execute("SELECT 1 FROM assistant_conversations").fetchall() == []
    connections.close()
    assert "org-pool" not in str(refused.value)
    assert "terminat" not in str(refused.value)


def test_a_statement_that_takes_too_long_is_unavailable_before_the_gateway_gives_up(
    database: Database,
) -> None:
    connections = database.connect()

    def wait_too_long() -> None:
        with connections.transaction(SCOPE) as rows:
            limit = rows.execute("SHOW statement_timeout").fetchone()
            assert limit == {"statement_timeout": "8s"}
            rows.execute("SET LOCAL statement_timeout = '50ms'")
            rows.execute("SELECT pg_sleep(5)")

    with pytest.raises(Unavailable):
        wait_too_long()
    connections.close()


def test_a_caller_that_is_lost_in_mid_transaction_keeps_its_rows_from_nobody_for_long(
    database: Database,
) -> None:
    survivors = PostgresConnections(
        lambda: database.address("equerry_runtime"), bounds=BOUNDS, silence_s=20.0
    )
    with survivors.transaction(SCOPE) as rows:
        rows.execute(INSERT)
    with serve_postgres_proxy(database.server.port) as proxy:
        address = replace(database.address("equerry_runtime"), port=proxy.port)
        lost = PostgresConnections(lambda: address, bounds=BOUNDS, silence_s=3.0)
        proxy.plan = Once(lambda call: b"pg_sleep" in call.body, lambda _: Vanish())
        with pytest.raises(Unavailable):
            rename(lost, "lost", "SELECT pg_sleep(0)")
        lost.close()

        assert rename(survivors, "kept") == 1
    survivors.close()
    with psycopg.connect(database.superuser_url) as session:
        session.execute("DELETE FROM assistant_conversations WHERE organisation_id = 'org-pool'")


def test_a_statement_that_is_our_bug_passes_as_it_is(database: Database) -> None:
    connections = database.connect()

    with pytest.raises(psycopg.errors.UndefinedTable), connections.transaction(SCOPE) as rows:
        rows.execute("SELECT * FROM no_such_table")
    connections.close()


@pytest.mark.req("A-ERR-01")
@pytest.mark.parametrize("statement", ["SELECT %s::text::uuid", "SELECT 1 / length(%s::text) - 1 / 0"])
def test_a_statement_that_fails_does_not_repeat_what_it_was_given(database: Database, statement: str) -> None:
    connections = database.connect()

    with pytest.raises(psycopg.errors.DataError) as bug:
        run(connections, statement, "what somebody wrote")
    connections.close()

    assert "wrote" not in str(bug.value)
    assert str(bug.value).startswith("22")


def test_an_error_rolls_the_transaction_back(database: Database) -> None:
    connections = database.connect()

    def write_and_fail() -> None:
        with connections.transaction(SCOPE) as rows:
            rows.execute(INSERT)
            raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        write_and_fail()

    with connections.transaction(SCOPE) as rows:
        assert rows.execute("SELECT 1 FROM assistant_conversations").fetchall() == []
    connections.close()


def test_a_server_that_was_away_is_found_again(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "server", find_free_port(), durable=False)
    server.start()
    database = build_database(server)
    connections = database.connect(timeout_s=1.0)
    assert ask(connections) == "ada"

    server.stop()
    with pytest.raises(Unavailable) as refused:
        ask(connections)
    server.start()
    try:
        assert ask(connections) == "ada"
    finally:
        connections.close()
        server.stop()
    assert str(server.port) not in str(refused.value)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """A server of the test's own, which it may stop in its tracks."""
    with EmbeddedPostgres(tmp_path / "server", find_free_port(), durable=False) as server:
        yield server


@contextmanager
def frozen(server: EmbeddedPostgres) -> Iterator[None]:
    """Let no process of the server run in the block; the kernel goes on accepting and acknowledging."""
    with psycopg.connect(server.superuser_url, autocommit=True) as session:
        backends = session.execute("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        processes = [int(pid) for (pid,) in backends]
    assert server.pid
    processes = [server.pid, *processes]
    try:
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def test_a_request_to_a_hung_server_is_unavailable_before_the_gateway_gives_up(
    server: EmbeddedPostgres,
) -> None:
    connections = build_database(server).connect()
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda _: ask(connections), range(8))) == ["ada"] * 8

    started = time.monotonic()
    with frozen(server), pytest.raises(Unavailable):
        ask(connections)

    assert time.monotonic() - started < GATEWAY_GIVES_UP_S
    assert ask(connections) == "ada"
    connections.close()


def test_a_server_that_hangs_in_mid_transaction_is_unavailable_once_it_was_silent_for_too_long(
    server: EmbeddedPostgres,
) -> None:
    database = build_database(server)
    connections = PostgresConnections(
        lambda: database.address("equerry_runtime"), bounds=BOUNDS, silence_s=3.0
    )

    def read_while_the_server_hangs() -> None:
        with connections.transaction(SCOPE) as rows, frozen(server):
            rows.execute("SELECT 1")

    with pytest.raises(Unavailable):
        read_while_the_server_hangs()

    assert ask(connections) == "ada"
    connections.close()


def test_a_rotated_password_is_picked_up_by_the_next_connection(database: Database) -> None:
    good = database.address("equerry_runtime")
    addresses = [DatabaseAddress.from_url(good.format_url().replace("runtime%27s", "old")), good]
    connections = PostgresConnections(
        lambda: addresses[0] if len(addresses) == 1 else addresses.pop(0),
        bounds=PoolBounds(max_size=2, checkout_s=4.0),
    )

    assert ask(connections) == "ada"
    connections.close()


def test_an_address_survives_its_secret_and_its_url() -> None:
    address = DatabaseAddress.from_secret(
        '{"host":"db.internal","port":5432,"dbname":"equerry_assistant","username":"equerry_runtime",'
        '"password":"p@ss/w:rd?%#","engine":"postgres"}'
    )

    assert DatabaseAddress.from_url(address.format_url()) == address
    assert address.port == 5432
    assert "p@ss" not in repr(address)


@pytest.mark.parametrize(
    ("secret", "complaint"),
    [
        ("not json", "not JSON"),
        ("[]", "lacks host, port"),
        ('{"host":"h","port":1,"dbname":"d","username":"u","password":""}', "lacks password"),
    ],
)
def test_a_malformed_secret_is_named_without_its_content(secret: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as refused:
        DatabaseAddress.from_secret(secret)

    assert secret not in str(refused.value) or secret == "[]"
