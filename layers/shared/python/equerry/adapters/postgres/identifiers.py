"""Identifiers on their way into SQL, where they are uuids."""

from uuid import UUID

from equerry.kernel.errors import NotFound


def as_uuid(identifier: str, *, name: str) -> UUID:
    """Return the identifier as the database has it.

    Raises:
        NotFound: it is no uuid, so nothing can have it.
    """
    try:
        return UUID(identifier)
    except ValueError:
        raise NotFound(f"there is no such {name}") from None
