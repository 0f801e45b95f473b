"""Organisations' statuses, asked of the product's identity service."""

import json
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, cast, get_args
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
)

from equerry.domain.retention import OrganisationStatus
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import OrganisationId
from equerry.ports.offboarding import ServiceTokenPort

TIMEOUT_S = 5.0
MAX_BYTES = 64 * 1024
_STATUSES = frozenset(get_args(OrganisationStatus))
_NOT_FOUND = 404


class HttpOrganisationStatusAdapter:
    """OrganisationStatusPort: GET `{url}/organisations/{id}` answers `{"status": "..."}`; 404 is `unknown`.

    It follows no redirect, which would carry the token elsewhere.

    Raises:
        ValueError: the address is no https one, and not this machine's either.
    """

    def __init__(self, url: str, tokens: ServiceTokenPort) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ValueError(f"the identity service's address must be https, got {url!r}")
        self._url = url.rstrip("/")
        self._tokens = tokens
        self._open = _make_opener()

    def fetch_status(self, organisation_id: OrganisationId) -> OrganisationStatus:
        """Keep OrganisationStatusPort's promise."""
        request = Request(  # noqa: S310  # its scheme was checked
            f"{self._url}/organisations/{quote(organisation_id, safe='')}",
            headers={"Authorization": f"Bearer {self._tokens.fetch_token()}", "Accept": "application/json"},
        )
        try:
            with self._open(request, timeout=TIMEOUT_S) as answer:
                body = answer.read(MAX_BYTES)
        except HTTPError as error:
            with error:
                if error.code == _NOT_FOUND:
                    return "unknown"
            raise Unavailable(f"the identity service answered {error.code}") from error
        except (OSError, HTTPException) as error:
            raise Unavailable("the identity service does not answer") from error
        return _read_status(body)


def _read_status(body: bytes) -> OrganisationStatus:
    """Return a status; one nobody knows of changes nothing, so it is `unknown`."""
    try:
        status = json.loads(body)["status"]
    except (ValueError, TypeError, KeyError) as error:
        raise Unavailable("the identity service's answer is no status") from error
    return cast("OrganisationStatus", status) if status in _STATUSES else "unknown"


def _make_opener() -> Callable[..., Any]:
    opener = OpenerDirector()
    for handler in (HTTPHandler(), HTTPSHandler(), HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
        opener.add_handler(handler)
    return opener.open


class HttpServiceTokenAdapter:
    """ServiceTokenPort over an address that answers `{"token": "..."}`: the local stand-in's."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open = _make_opener()

    def fetch_token(self) -> str:
        """Keep ServiceTokenPort's promise."""
        try:
            with self._open(Request(self._url, data=b"{}"), timeout=TIMEOUT_S) as answer:  # noqa: S310
                token = json.loads(answer.read(MAX_BYTES))["token"]
        except (OSError, HTTPException, ValueError, TypeError, KeyError) as error:
            raise Unavailable("no service token was to be had") from error
        return str(token)
