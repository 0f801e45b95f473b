"""Who belongs to which projects, asked of the product's own directory."""

import json
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import urllib3

from equerry.adapters.addresses import parse_service_address
from equerry.domain.principal import Scope
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable
from equerry.kernel.identifiers import ProjectId

CONNECT_S: Final = 1.0
ANSWER_S: Final = 2.0
WHOLE_S: Final = CONNECT_S + ANSWER_S
"""A server that sends a byte now and then is never silent for as long as it may be."""
MAX_BYTES: Final = 256 * 1024
_ID = re.compile(r"[\w.@|:+=~-]{1,128}", re.ASCII)
"""As a token's ids are: no comma, by which they are joined for the database."""
_DOTS = frozenset({".", ".."})


class HttpDirectoryAdapter:
    """DirectoryPort over `GET {url}/organisations/{id}/users/{id}/projects`.

    The answer is `{"projectIds": [...]}`.

    It is asked in this service's own name: a worker, a socket and the reaper have no caller's token.
    """

    def __init__(self, url: str, read_credential: Callable[[], str | None], clock: Clock) -> None:
        """Connect to nothing yet.

        Args:
            url: the directory's, without a slash at its end or with one.
            read_credential: called for each request, so that a rotated one is picked up; None sends none.
            clock: says how long an answer has been on its way.

        Raises:
            ValueError: the address is blank, or is http beyond this machine.
        """
        self._url = parse_service_address(url, setting="DIRECTORY_URL").rstrip("/")
        self._read_credential = read_credential
        self._clock = clock
        self._pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=CONNECT_S, read=ANSWER_S), retries=False
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
        if not _DOTS.isdisjoint((scope.organisation_id, scope.user_id)):
            raise _unavailable("cannot be asked for an id that an address takes for a step")
        organisation, user = quote(scope.organisation_id, safe=""), quote(scope.user_id, safe="")
        address = f"{self._url}/organisations/{organisation}/users/{user}/projects"
        until_s = self._clock.monotonic_s() + WHOLE_S
        try:
            answer = self._send(address)
            try:
                return answer.status, self._read(answer, until_s)
            finally:
                # One that was read to its end has gone back to the pool; no other may be asked again.
                answer.close()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _unavailable("does not answer") from error

    def _send(self, address: str) -> urllib3.BaseHTTPResponse:
        credential = self._read_credential()
        headers = {"accept": "application/json"}
        if credential:
            headers["authorization"] = f"Bearer {credential}"

        def send() -> urllib3.BaseHTTPResponse:
            return self._pool.request("GET", address, headers=headers, redirect=False, preload_content=False)

        try:
            return send()
        except urllib3.exceptions.ProtocolError:
            # The connection was closed while it idled.
            return send()

    def _read(self, answer: urllib3.BaseHTTPResponse, until_s: float) -> bytes:
        """Return an answer's content, or a little more than may be of one that is too long."""
        content = b""
        while len(content) <= MAX_BYTES and (more := answer.read1(MAX_BYTES)):
            content += more
            if self._clock.monotonic_s() >= until_s:
                raise _unavailable("takes too long to answer")
        return content


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
