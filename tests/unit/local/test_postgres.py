import stat
from pathlib import Path

import psycopg
import pytest

from local.errors import MissingTool, PartFailed
from local.ports import find_free_port
from local.postgres import EmbeddedPostgres
from local.unprivileged import Launch, find_launch

pytestmark = pytest.mark.postgres


def test_the_owner_may_create_roles_and_is_no_superuser(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.owner_url) as session:
        row = session.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls FROM pg_roles"
            " WHERE rolname = current_user"
        ).fetchone()

    assert row == (False, True, True, False)


def test_the_vector_extension_is_there_for_migrations(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.owner_url) as session:
        session.execute("SET client_min_messages = warning")
        session.execute("CREATE EXTENSION IF NOT EXISTS vector")

        assert session.execute("SELECT '[1,2]'::vector(2) <-> '[1,3]'").fetchone() == (1.0,)


def test_a_wrong_password_does_not_get_in(postgres: EmbeddedPostgres) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres.url("equerry_owner", "wrong")).close()


def test_what_was_committed_survives_a_restart(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path, find_free_port()) as server, psycopg.connect(server.owner_url) as session:
        session.execute("CREATE TABLE kept (n int)")

    with EmbeddedPostgres(tmp_path, find_free_port()) as server, psycopg.connect(server.owner_url) as session:
        assert session.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    assert stat.S_IMODE((tmp_path / "passwords.json").stat().st_mode) == 0o600


def test_a_start_that_fails_says_why(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path, find_free_port()) as first:
        second = EmbeddedPostgres(tmp_path, first.port + 1)

        with pytest.raises(PartFailed, match=r"postmaster\.pid"):
            second.start()


def test_root_falls_back_to_another_account_where_namespaces_are_refused() -> None:
    launch = find_launch(uid=0, works=lambda launch: launch.prefix[0] == "setpriv")

    assert launch.account is not None
    assert launch.command("initdb")[:2] == ["setpriv", f"--reuid={launch.account.pw_uid}"]


def test_root_without_either_way_is_told_what_to_install() -> None:
    with pytest.raises(MissingTool, match="refuses to run as root") as caught:
        find_launch(uid=0, works=lambda _launch: False)

    assert "ordinary user" in caught.value.remedy


def test_an_ordinary_user_needs_no_prefix() -> None:
    assert find_launch(uid=1000) == Launch()
