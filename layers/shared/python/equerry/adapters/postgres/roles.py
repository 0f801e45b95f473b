"""The database roles, and their passwords."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from psycopg import Connection

RUNTIME: Final = "equerry_runtime"
PLATFORM: Final = "equerry_platform"
SEARCH: Final = "equerry_search"
MEMBERSHIP: Final = "equerry_membership"
LOGIN_ROLES: Final = (RUNTIME, PLATFORM)
FUNCTION_ROLES: Final = (SEARCH, MEMBERSHIP)
"""Nobody enters as these: each owns functions that may read one table past its policies."""


def ensure_roles(owner: "Connection[tuple[object, ...]]", passwords: Mapping[str, str]) -> None:
    """Create the roles that are missing and set these passwords; safe to repeat.

    `owner` may create roles and is no superuser. No role here bypasses row-level security, owns a table or
    inherits another's rights; the owner may become those that own functions.

    Args:
        owner: an open connection of the owning role, in autocommit.
        passwords: by role, for exactly the login roles.
    """
    if set(passwords) != set(LOGIN_ROLES):
        raise ValueError(f"passwords are needed for {', '.join(LOGIN_ROLES)}, got {sorted(passwords)}")
    with owner.transaction():
        for role in LOGIN_ROLES:
            _ensure_role(owner, role, "LOGIN")
            _set_password(owner, role, passwords[role])
            # A container that freezes in mid-transaction must not hold its locks for ever.
            _execute(owner, "ALTER ROLE {} SET idle_in_transaction_session_timeout = '60s'", role)
            # One that freezes between requests must not keep a database awake that could pause.
            _execute(owner, "ALTER ROLE {} SET idle_session_timeout = '5min'", role)
        # Before API Gateway gives up at 29 s, so that the caller hears it from us.
        _execute(owner, "ALTER ROLE {} SET statement_timeout = '25s'", RUNTIME)
        _execute(owner, "ALTER ROLE {} SET lock_timeout = '10s'", RUNTIME)
        for role in FUNCTION_ROLES:
            _ensure_role(owner, role, "NOLOGIN")
            _execute(owner, "GRANT {} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE", role)


def _ensure_role(owner: "Connection[tuple[object, ...]]", role: str, login: str) -> None:
    if owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
        _execute(owner, f"CREATE ROLE {{}} {login} NOINHERIT", role)


def _set_password(owner: "Connection[tuple[object, ...]]", role: str, password: str) -> None:
    from psycopg import sql

    # Hashed here, so that the statement a server may log holds no password.
    verifier = owner.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    owner.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier)))


def _execute(owner: "Connection[tuple[object, ...]]", statement: str, role: str) -> None:
    from psycopg import sql

    owner.execute(sql.SQL(statement).format(sql.Identifier(role)))
