"""What the database says, as the failures a caller can act on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from equerry.kernel.errors import Unavailable

if TYPE_CHECKING:
    import psycopg

RETRY_AFTER_S: Final = 5
# By SQLSTATE: connection exceptions, too little of a resource (53300: too many connections), an operator's
# shutdown, serialization failure, deadlock, lock or statement timeout, a writer that has become a reader,
# and a transaction that stood idle for too long.
TRANSIENT_CLASSES: Final = ("08", "53")
TRANSIENT_STATES: Final = ("57P01", "57P02", "57P03", "40001", "40P01", "55P03", "57014", "25006", "25P03")

SPEAKING_OF_OURS: Final = ("23", "42")
"""Violated constraints and wrong statements, whose first line names ours; the details repeat the row."""


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn what may pass by itself into Unavailable; everything else is our bug and goes through.

    Raises:
        Unavailable: without a word of the driver's, which may hold addresses and values.
    """
    import psycopg
    from psycopg_pool import PoolTimeout

    try:
        yield
    except PoolTimeout as error:
        raise _unavailable("has no connection free") from error
    except psycopg.Error as error:
        _forget_values(error)
        if not _is_transient(error.sqlstate, connection_lost=isinstance(error, psycopg.OperationalError)):
            raise
        raise _unavailable("did not complete the request") from error


def _is_transient(state: str | None, *, connection_lost: bool) -> bool:
    if state is None:
        return connection_lost
    return state[:2] in TRANSIENT_CLASSES or state in TRANSIENT_STATES


def _forget_values(error: "psycopg.Error") -> None:
    """Leave of the server's message what names our tables and statements: the rest may repeat a row."""
    if error.sqlstate is None:
        return  # the driver's own words
    speaks_of_ours = error.sqlstate[:2] in SPEAKING_OF_OURS
    said = error.diag.message_primary if speaks_of_ours else "its message may hold data"
    error.args = (f"{error.sqlstate}: {said}",)


def _unavailable(what: str) -> Unavailable:
    return Unavailable(f"the database {what}; try again", retry_after_s=RETRY_AFTER_S)
