"""Migrations, at each deployment that has any."""

from collections.abc import Mapping
from typing import Any

from equerry.runtime.migrator import migrate


def handle(_event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    return {"Data": {"Applied": ",".join(migrate())}}
