"""The API's OpenAPI document, from the routes that serve."""

from dataclasses import MISSING, fields

from equerry.runtime.http import build_routes
from equerry.runtime.settings import HttpSettings
from equerry.runtime.turn_parts import build_turn_parts
from equerry.surfaces.http.exchange import HttpRequest
from equerry.surfaces.http.routing import Route

from local.version import read_version
