"""The HTTP API as the command line uses it."""

import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import httpx

from local.cli.inputs import require_token, require_url
from local.cli.retrying import ask_patiently
from local.endpoints import load_endpoints
from local.errors import BadInput, LocalError, NotRunning
from local.places import Places
from local.tokens import Person, build_mint, load_people

PREFIX = "/api/assistant"
DEFAULT_USER = "ada"
TIMEOUT = httpx.Timeout(40, connect=5)


class ApiRefused(LocalError):
    """The API answered with a problem; `code` is its stable name."""

    def __init__(self, message: str, *, code: str, status: int, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.code = code
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which deployment to speak to, and as whom; `indexer` is a demo user who may index, unless ada is."""

    url: str
    headers: Mapping[str, str]
    token: str
    trust: ssl.SSLContext | None = None
    local: bool = True
    indexer: str | None = None


def find_target(user: str | None, environ: Mapping[str, str] = os.environ) -> Target:
    """Return EQUERRY_URL with EQUERRY_TOKEN if set, the local stack as a demo user otherwise.

    Args:
        user: the demo user's id; nobody named is ada.

    Raises:
        LocalError: only one of the two is set, or no demo user has that name.
        BadInput: the address or the token cannot be meant, or a demo user is named beside a token.
        NotRunning: there is no local stack.
    """
    url, token = environ.get("EQUERRY_URL"), environ.get("EQUERRY_TOKEN")
    if url and token:
        if user is not None:
            raise BadInput(
                f"--user {user} is of the local stack, and EQUERRY_TOKEN says already who asks",
                "leave --user out, or unset EQUERRY_URL and EQUERRY_TOKEN",
            )
        address = require_url(url).rstrip("/").removesuffix(PREFIX)
        return Target(url=address, headers={}, token=require_token(token), local=False)
    if url or token:
        raise LocalError(
            "EQUERRY_URL and EQUERRY_TOKEN belong together", "set both, or neither for the local stack"
        )
    places = Places.from_env(environ)
    endpoints = load_endpoints(places)
    people = load_people()
    person = find_person(user or DEFAULT_USER, people)
    signed, _ = build_mint(places).sign(person)
    trust = ssl.create_default_context(cafile=str(places.certificate)) if places.enforce_iam else None
    return Target(
        url=endpoints.http_url,
        headers=endpoints.headers,
        token=signed,
        trust=trust,
        indexer=find_indexer(person, people),
    )


def find_person(user: str, people: tuple[Person, ...]) -> Person:
    """Return the demo user of that name; raises LocalError naming those there are."""
    for person in people:
        if person.user_id == user:
            return person
    known = ", ".join(person.user_id for person in people)
    raise LocalError(f"there is no demo user {user!r}", f"use one of {known} (local/users.toml)")


def find_indexer(person: Person, people: tuple[Person, ...]) -> str | None:
    """Return who may index for that person's organisation; None if nobody has to be named for it."""
    admins = [one for one in people if one.role == "admin" and one.organisation_id == person.organisation_id]
    named = [one.user_id for one in (*admins, person)]
    return None if DEFAULT_USER in named else named[0]


class Api:
    """Calls under one identity; a refusal is an ApiRefused, silence a NotRunning."""

    def __init__(
        self,
        target: Target,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.target = target
        self._sleep = sleep
        trust = target.trust or True
        identity = {**target.headers, "Authorization": f"Bearer {target.token}"}
        proxied = not target.local
        self._client = httpx.Client(
            base_url=target.url + PREFIX,
            headers=identity,
            timeout=TIMEOUT,
            verify=trust,
            trust_env=proxied,
            transport=transport,
        )
        self._storage = httpx.Client(timeout=TIMEOUT, verify=trust, trust_env=proxied, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._storage.close()

    def get(self, path: str, **query: str | int) -> Any:
        """Read a resource; what a gateway refuses for a moment is asked again."""
        return self._call("GET", path, params=query)

    def post(self, path: str, content: object = None) -> Any:
        """Send a resource."""
        return self._call("POST", path, json={} if content is None else content)

    def delete(self, path: str) -> Any:
        """Remove a resource."""
        return self._call("DELETE", path)

    def put_bytes(self, url: str, content: bytes, headers: Mapping[str, str]) -> None:
        """Upload to a presigned address, which carries its own authority: the token stays here."""
        with _reaching(url, local=self.target.local):
            answer = self._storage.put(url, content=content, headers=dict(headers))
        if not answer.is_success:
            raise ApiRefused(
                f"the upload was refused ({answer.status_code})", code="upload", status=answer.status_code
            )

    def _call(self, method: str, path: str, **options: Any) -> Any:
        with _reaching(self.target.url, local=self.target.local):
            answer = self._send(method, path, **options)
        if answer.is_success:
            return answer.json() if answer.content else None
        raise _to_error(answer)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        def send() -> httpx.Response:
            return self._client.request(method, path, **options)

        return ask_patiently(send, self._sleep) if method == "GET" else send()


@contextmanager
def _reaching(url: str, *, local: bool) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException:
        remedy = "try again; `equerry local status` tells how the stack is" if local else "try again"
        raise LocalError(f"{url} did not answer in time", remedy) from None
    except httpx.TransportError as error:
        remedy = "make up" if local else _ELSEWHERE
        raise NotRunning(f"{url} cannot be reached ({error})", remedy) from None


def _to_error(answer: httpx.Response) -> ApiRefused:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    code = str(problem.get("code", "unknown"))
    detail = problem.get("detail") or problem.get("title") or problem.get("message") or answer.reason_phrase
    reference = f" (reference {problem['reference']})" if problem.get("reference") else ""
    return ApiRefused(f"{detail}{reference}", code=code, status=answer.status_code, remedy=_advise(code))


def _advise(code: str) -> str:
    return _ADVICE.get(code, "")


_ELSEWHERE = "check EQUERRY_URL; without it and EQUERRY_TOKEN, the local stack is asked"
_ADVICE = {
    "unauthenticated": "the token is expired or not for this deployment; get a new one",
    "admin_required": "this needs the role admin: --user ada, or another token",
    "assistant_disabled": "`equerry switch status` tells an operator what is off",
}
