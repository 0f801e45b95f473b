"""The API's OpenAPI document, from the routes that serve."""

import os
import tomllib
from dataclasses import MISSING, fields
from typing import Any

from equerry.adapters.aws.interrupts import DynamoInterruptAdapter
from equerry.runtime.http import build_turns
from equerry.runtime.late import LateParts
from equerry.runtime.parameters import build_switch, open_parameters
from equerry.runtime.settings import HttpSettings
from equerry.runtime.turn_parts import build_turn_parts
from equerry.surfaces.http.openapi import build_contract
from equerry.surfaces.http.routing import Route

from local.places import REGION, ROOT


def write_contract() -> str:
    """Return the document that a deployment of this code serves at /api/assistant/openapi.json."""
    return build_contract(build_offline_routes(), version=read_version())


def build_offline_routes() -> tuple[Route, ...]:
    """Return every route of the API, over adapters that were never asked for anything."""
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)  # a client is made for a region, used or not
    settings = build_offline_settings()
    parts = build_turn_parts(settings)
    switch = build_switch(settings, open_parameters(), parts.metrics)
    interrupts = DynamoInterruptAdapter(parts.clients.dynamodb, settings.run_flags_table, parts.clock)
    late = LateParts(settings, parts, interrupts)
    return late.list_routes(build_turns(settings, parts, switch, late))


def build_offline_settings() -> HttpSettings:
    """Return settings that lead nowhere; the version is the layer's."""
    required = [field.name for field in fields(HttpSettings) if field.default is MISSING]
    nowhere: dict[str, Any] = {name: f"https://{name.replace('_', '-')}.invalid" for name in required}
    return HttpSettings(**nowhere | {"equerry_version": read_version()})


def read_version() -> str:
    """Return the layer's declared version, which a deployment answers with."""
    declared = tomllib.loads((ROOT / "layers/shared/pyproject.toml").read_text(encoding="utf-8"))
    return str(declared["project"]["version"])
