"""The HTTP API."""

from equerry.runtime.http import build_http_app

handle = build_http_app()
