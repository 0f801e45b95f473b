"""Where a database is and as whom to enter it."""

import json
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from equerry.kernel.kinds import value


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """One database as one role; the password never shows in a representation."""

    host: str
    port: int
    dbname: str
    username: str
    password: str = field(repr=False)

    @classmethod
    def from_secret(cls, text: str) -> Self:
        """Read the JSON of a secret: host, port, dbname, username, password; anything else is ignored.

        Raises:
            ValueError: not of that form; the message names the keys that are missing and no value.
        """
        try:
            found = json.loads(text)
        except json.JSONDecodeError:
            raise ValueError("the database secret is not JSON") from None
        names = ("host", "port", "dbname", "username", "password")
        missing = [name for name in names if not isinstance(found, dict) or not found.get(name)]
        if missing:
            raise ValueError(f"the database secret lacks {', '.join(missing)}")
        return cls(**{name: str(found[name]) for name in names if name != "port"}, port=int(found["port"]))

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Read `postgresql://username:password@host:port/dbname`."""
        parts = urlsplit(url)
        return cls(
            host=parts.hostname or "127.0.0.1",
            port=parts.port or 5432,
            dbname=unquote(parts.path.lstrip("/")),
            username=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
        )

    @property
    def sslmode(self) -> str:
        """Encrypted wherever it leaves this machine, whose own server has no certificate."""
        return "prefer" if self.host in ("127.0.0.1", "::1", "localhost") else "require"

    def format_url(self, scheme: str = "postgresql") -> str:
        """Write the address as a URL, password included."""
        account = f"{quote(self.username, safe='')}:{quote(self.password, safe='')}"
        place = f"{self.host}:{self.port}/{quote(self.dbname, safe='')}"
        return f"{scheme}://{account}@{place}?sslmode={self.sslmode}"
