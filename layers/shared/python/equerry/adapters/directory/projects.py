"""Who belongs to which projects, asked of the product's own directory."""

import json
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import urllib3

from equerry.adapters.addresses import parse_service_address
from equerry.domain.principal import Scope
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ProjectId

CONNECT_S: Final = 1.0
ANSWER_S: Final = 2.0
MAX_BYTES: Final = 256 * 1024
_ID = re.compile(r"[\w.@|:+=~-]{1,128}", re.ASCII)
"""As a token's ids are: no comma, by which they are joined for the database."""


class HttpDirectoryAdapter:
    """DirectoryPort over `GET {url}/organisations/{id}/users/{id}/projects`.

    The answer is `{"projectIds": [...]}`.

    It is asked in this service's own name: a worker, a socket and the reaper have no caller's token.
    """

    def __init__(self, url: str, read_credential: Callable[[], str | None]) -> None:
        """Connect to nothing yet.

        Args:
            read_credential: called for each request, so that a rotated one is picked up; None sends none.

        Raises:
            ValueError: the address is blank, or is http beyond this machine.
        """
        self._url = parse_service_address(url, setting="DIRECTORY_URL").rstrip("/")
        self._read_credential = read_credential
        self._pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=CONNECT_S, read=ANSWER_S),
            # Once more, for a connection that was closed while it idled.
            retries=urllib3.Retry(total=1, redirect=0, status=0, raise_on_redirect=False, backoff_factor=0),
        )

    def list_projects(self, scope: Scope) -> tuple[ProjectId, ...]:
        """See DirectoryPort."""
        status, content = self._ask(scope)
        if status == 404:
            return ()
        if status != 200:
            raise _unavailable(f"answered {status}")
        return _read_projects(content)

    def _ask(self, scope: Scope) -> tuple[int, bytes]:
        organisation, user = quote(scope.organisation_id, safe=""), quote(scope.user_id, safe="")
        credential = self._read_credential()
        headers = {"accept": "application/json"}
        if credential:
            headers["authorization"] = f"Bearer {credential}"
        try:
            answer = self._pool.request(
                "GET",
                f"{self._url}/organisations/{organisation}/users/{user}/projects",
                headers=headers,
                redirect=False,
                preload_content=False,
            )
            try:
                return answer.status, answer.read(MAX_BYTES + 1)
            finally:
                answer.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _unavailable("does not answer") from error


def _read_projects(content: bytes) -> tuple[ProjectId, ...]:
    try:
        found: Any = json.loads(content) if len(content) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        found = None
    ids = found.get("projectIds") if isinstance(found, dict) else None
    if not isinstance(ids, list) or not all(isinstance(each, str) and _ID.fullmatch(each) for each in ids):
        raise _unavailable("does not list projects")
    return tuple(sorted({ProjectId(each) for each in ids}))


def _unavailable(what: str) -> Unavailable:
    return Unavailable(f"the directory of projects {what}", retry_after_s=2)
