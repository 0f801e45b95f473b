"""Serves the routes behind an HTTP API."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from pydantic import BaseModel

from equerry.domain.principal import Principal
from equerry.kernel.errors import EquerryError, InvalidInput, NotFound
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

    def __init__(self, routes: Sequence[Route], identity: IdentityPort, billing: BillingService) -> None:
        self._identity = identity
        self._billing = billing
        self._resolver = APIGatewayHttpResolver()
        self._addresses = tuple((_compile_address(route), _list_methods(route)) for route in routes)
        for route in routes:
            rule = PREFIX + re.sub(r"\{(\w+)\}", r"<\1>", route.path)
            self._resolver.route(rule, list(_list_methods(route)))(self._serve(route))
        self._resolver.not_found(self._answer_unknown)

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Handle one event of payload format 2.0."""
        headers = event.get("headers") or {}
        hold_secrets(str(headers.get("authorization", "")).partition(" ")[2].strip())
        enter_trace(headers.get("traceparent"))
        logger.append_keys(request_id=_read_reference(event))
        answer = self._resolver.resolve(event, context)
        if event["requestContext"]["http"]["method"] == "HEAD":
            answer["body"] = ""
        return answer

    def _serve(self, route: Route) -> Callable[..., Response[Any]]:
        def serve(**path: str) -> Response[Any]:
            event = self._resolver.current_event
            reference = _read_reference(event.raw_event)
            try:
                answer = route.handle(self._decode(route, path, reference))
            except EquerryError as failure:
                logger.info("request_refused", extra={"operation": route.operation, "code": failure.code})
                answer = answer_failure(failure, instance=_show_path(event.path), reference=reference)
            except Exception as failure:  # noqa: BLE001  # the rim: a reference for the caller, the trace for us
                logger.exception("request_failed", extra={"operation": route.operation})
                answer = answer_failure(failure, instance=_show_path(event.path), reference=reference)
            return _encode(answer, reference)

        return serve

    def _decode(self, route: Route, path: dict[str, str], reference: str) -> HttpRequest:
        event = self._resolver.current_event
        headers = {name.lower(): text for name, text in event.headers.items()}
        caller = self._find_caller(route, headers)
        query = {name: read_text(text, name=name) for name, text in event.query_string_parameters.items()}
        return HttpRequest(
            path=path,
            query=query,
            headers=headers,
            body=_read_body(event.raw_event, headers) if route.request else None,
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

    def _answer_unknown(self, _failure: Exception) -> Response[Any]:
        event = self._resolver.current_event
        reference = _read_reference(event.raw_event)
        allowed = self._list_allowed(event.path)
        if allowed and event.http_method == "OPTIONS":
            return _encode(HttpAnswer(status=204, headers={"allow": ", ".join(allowed)}), reference)
        failure = MethodNotAllowed(allowed) if allowed else NotFound("there is nothing at this address")
        return _encode(
            answer_failure(failure, instance=_show_path(event.path), reference=reference), reference
        )

    def _list_allowed(self, path: str) -> tuple[str, ...]:
        """Return the methods that an address answers to, in order; none where there is nothing."""
        found = {
            method for address, methods in self._addresses if address.fullmatch(path) for method in methods
        }
        return tuple(sorted({*found, "OPTIONS"})) if found else ()


def _compile_address(route: Route) -> re.Pattern[str]:
    return re.compile(PREFIX + re.sub(r"\\{\w+\\}", r"[\\w-]+", re.escape(route.path)))


def _list_methods(route: Route) -> tuple[str, ...]:
    """Return the route's method; whoever may GET may ask for HEAD."""
    return ("GET", "HEAD") if route.method == "GET" else (route.method,)


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


def _show_path(path: str) -> str:
    return path.encode(errors="backslashreplace").decode()


def _encode(answer: HttpAnswer, reference: str) -> Response[Any]:
    body = answer.body
    text = body.model_dump_json(by_alias=True) if isinstance(body, BaseModel) else body
    headers = {"x-request-id": reference, "x-content-type-options": "nosniff", **answer.headers}
    media_type = headers.pop("content-type", "application/json")
    return Response(
        status_code=HTTPStatus(answer.status).value,
        content_type=media_type if text is not None else None,
        body=text if text is not None else "",
        headers=headers,
    )
