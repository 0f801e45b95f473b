"""Serves the routes behind an HTTP API."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from pydantic import BaseModel

from equerry.domain.principal import Principal
from equerry.kernel.errors import EquerryError, InvalidInput, NotFound
from equerry.kernel.kinds import value
from equerry.ports.identity import IdentityPort
from equerry.runtime.observability import hold_secrets, logger
from equerry.runtime.tracing import enter_trace
from equerry.services.billing import BillingService
from equerry.surfaces.http.authentication import read_bearer
from equerry.surfaces.http.exchange import HttpAnswer, HttpRequest
from equerry.surfaces.http.problems import MethodNotAllowed, answer_failure
from equerry.surfaces.http.routing import PREFIX, Route
from equerry.surfaces.json_input import read_text

_REFERENCE = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_REPLACED = "\ufffd"


class HttpApp:
    """Routes requests, identifies callers, and turns every failure into a problem document."""

    def __init__(
        self,
        routes: Sequence[Route],
        identity: IdentityPort,
        billing: BillingService,
        *,
        list_routes: Callable[[], Sequence[Route]] | None = None,
    ) -> None:
        """Serve `routes`; where one of them does not answer, all that `list_routes` returns.

        A cold start so loads what an acknowledgement needs, and the rest when it is first asked for.
        """
        self._identity = identity
        self._billing = billing
        self._lock = Lock()
        self._addresses = tuple(_compile_address(route) for route in routes)
        self._list_routes = list_routes

    def __call__(self, event: dict[str, Any], _context: Any) -> dict[str, Any]:
        """Handle one event of payload format 2.0."""
        headers = event.get("headers") or {}
        hold_secrets(str(headers.get("authorization", "")).partition(" ")[2].strip())
        enter_trace(headers.get("traceparent"))
        reference = _read_reference(event)
        logger.append_keys(request_id=reference)
        answer = _encode(self._answer(event, reference), reference)
        return answer | {"body": ""} if _read_method(event) == "HEAD" else answer

    def _answer(self, event: dict[str, Any], reference: str) -> HttpAnswer:
        operation = "unknown"
        try:
            found = self._find_address(event)
            if found is None:
                return self._answer_unknown(event, reference)
            operation = found.route.operation
            return found.route.handle(self._decode(found, event, reference))
        except EquerryError as failure:
            logger.info("request_refused", extra={"operation": operation, "code": failure.code})
            return _answer_failure(failure, event, reference)
        except Exception as failure:  # noqa: BLE001  # the rim: a reference for the caller, the trace for us
            logger.exception("request_failed", extra={"operation": operation})
            return _answer_failure(failure, event, reference)

    def _find_address(self, event: dict[str, Any]) -> "_Address | None":
        """Return where a request goes; None if no route answers to its address and method."""
        found = next((address for address in self._addresses if address.serves(event)), None)
        if found is None and self._list_routes is not None:
            self._complete(self._list_routes)
            return next((address for address in self._addresses if address.serves(event)), None)
        return found

    def _complete(self, list_routes: Callable[[], Sequence[Route]]) -> None:
        with self._lock:
            if self._list_routes is not None:
                self._addresses = tuple(_compile_address(route) for route in list_routes())
                self._list_routes = None

    def _decode(self, address: "_Address", event: dict[str, Any], reference: str) -> HttpRequest:
        route = address.route
        headers = {name.lower(): text for name, text in (event.get("headers") or {}).items()}
        caller = self._find_caller(route, headers)
        asked = event.get("queryStringParameters") or {}
        query = {name: read_text(text, name=name) for name, text in asked.items()}
        return HttpRequest(
            path=address.read_parameters(event),
            query=query,
            headers=headers,
            body=_read_body(event, headers) if route.request else None,
            request_id=reference,
            caller=caller,
        )

    def _find_caller(self, route: Route, headers: Mapping[str, str]) -> Principal | None:
        if route.authenticated:
            caller = self._identity.verify(read_bearer(headers))
            self._billing.require_access(caller, writes=route.method != "GET")
            return caller
        if not route.recognises or "authorization" not in headers:
            return None
        try:
            return self._identity.verify(read_bearer(headers))
        except EquerryError:  # whoever they are, what needs no token is answered
            return None

    def _answer_unknown(self, event: dict[str, Any], reference: str) -> HttpAnswer:
        allowed = self._list_allowed(event["rawPath"])
        if allowed and _read_method(event) == "OPTIONS":
            return HttpAnswer(status=204, headers={"allow": ", ".join(allowed)})
        failure = MethodNotAllowed(allowed) if allowed else NotFound("there is nothing at this address")
        return _answer_failure(failure, event, reference)

    def _list_allowed(self, path: str) -> tuple[str, ...]:
        """Return the methods that an address answers to, in order; none where there is nothing."""
        found = {
            method
            for address in self._addresses
            if address.pattern.fullmatch(path)
            for method in address.methods
        }
        return tuple(sorted({*found, "OPTIONS"})) if found else ()


@value
@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    """Where a route is found."""

    route: Route
    pattern: re.Pattern[str]
    methods: tuple[str, ...]

    def serves(self, event: dict[str, Any]) -> bool:
        return _read_method(event) in self.methods and self.pattern.fullmatch(event["rawPath"]) is not None

    def read_parameters(self, event: dict[str, Any]) -> dict[str, str]:
        match = self.pattern.fullmatch(event["rawPath"])
        return match.groupdict() if match else {}


def _compile_address(route: Route) -> _Address:
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(PREFIX + route.path))
    return _Address(route=route, pattern=re.compile(pattern), methods=_list_methods(route))


def _list_methods(route: Route) -> tuple[str, ...]:
    """Return the route's method; whoever may GET may ask for HEAD."""
    return ("GET", "HEAD") if route.method == "GET" else (route.method,)


def _read_method(event: dict[str, Any]) -> str:
    return str(event["requestContext"]["http"]["method"])


def _read_reference(event: dict[str, Any]) -> str:
    """Return the caller's x-request-id where it is sane, else the gateway's own."""
    given = str((event.get("headers") or {}).get("x-request-id", ""))
    if _REFERENCE.fullmatch(given):
        return given
    return str(event.get("requestContext", {}).get("requestId", "unknown"))


def _read_body(event: dict[str, Any], headers: Mapping[str, str]) -> str:
    """Return the body's text; raises InvalidInput where what was sent is not UTF-8."""
    body = event.get("body") or ""
    try:
        text = b64decode(body, validate=True).decode() if event.get("isBase64Encoded") else str(body)
    except (binascii.Error, ValueError) as broken:
        raise InvalidInput("the body must be JSON in UTF-8", field="body") from broken
    # The gateway puts U+FFFD for what it cannot read, which nearly always changes the length.
    length = headers.get("content-length", "")
    if _REPLACED in text and length.isdecimal() and length != str(len(text.encode(errors="surrogatepass"))):
        raise InvalidInput("the body must be JSON in UTF-8", field="body")
    return text


def _answer_failure(failure: Exception, event: dict[str, Any], reference: str) -> HttpAnswer:
    path = event["rawPath"].encode(errors="backslashreplace").decode()
    return answer_failure(failure, instance=path, reference=reference)


def _encode(answer: HttpAnswer, reference: str) -> dict[str, Any]:
    body = answer.body
    text = body.model_dump_json(by_alias=True) if isinstance(body, BaseModel) else body
    headers = {"x-request-id": reference, "x-content-type-options": "nosniff"}
    if text is not None:
        headers["content-type"] = "application/json"
    return {
        "statusCode": answer.status,
        "headers": headers | dict(answer.headers),
        "body": text or "",
        "isBase64Encoded": False,
    }
