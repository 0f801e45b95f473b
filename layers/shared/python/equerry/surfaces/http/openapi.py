"""The OpenAPI 3.1 document, made from the routes that serve; the same routes give the same bytes."""

import re
from collections.abc import Sequence
from json import dumps

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from equerry.surfaces.http.problems import MEDIA_TYPE
from equerry.surfaces.http.routing import PREFIX, Parameter, Route
from equerry.surfaces.http.wire import Problem

_DESCRIPTIONS = {
    400: "The request is malformed",
    401: "No token, or one that does not verify",
    403: "Not allowed",
    404: "Not there, or not for you",
    409: "The state does not allow it now",
    413: "The body is too large",
    422: "Well formed, and contradicts what was said before",
    429: "A rate or a budget is used up; Retry-After says for how long",
    500: "Our fault; the reference finds it in the logs",
    503: "A part we need is not answering",
}
_EVERYWHERE = (
    "Every address answers OPTIONS with 204, and a method that it lacks with 405 and a problem document; the"
    " header Allow lists what it has. Whoever may GET may ask for HEAD. Every answer carries x-request-id."
)
_REFERENCE = "#/components/schemas/{model}"


def build_contract(routes: Sequence[Route], *, version: str) -> str:
    """Return the document as JSON text, keys sorted, two blanks of indent."""
    documented = [route for route in routes if route.documented]
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Equerry", "version": version, "description": _EVERYWHERE},
        "servers": [{"url": PREFIX}],
        "paths": _build_paths(documented),
        "components": {
            "schemas": _build_schemas(documented),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }
    return dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _build_paths(routes: Sequence[Route]) -> dict[str, dict[str, object]]:
    paths: dict[str, dict[str, object]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _build_operation(route)
    return paths


def _build_operation(route: Route) -> dict[str, object]:
    operation: dict[str, object] = {
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": _build_parameters(route),
        "responses": _build_responses(route),
        "security": [{"bearer": []}] if route.authenticated else [],
    }
    if route.request is not None:
        operation["requestBody"] = {"required": True, "content": _content("application/json", route.request)}
    return operation


def _build_parameters(route: Route) -> list[dict[str, object]]:
    names = re.findall(r"\{(\w+)\}", route.path)
    in_path = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    in_query = [_build_optional("query", parameter) for parameter in route.query]
    return [*in_path, *in_query, *(_build_optional("header", parameter) for parameter in route.headers)]


def _build_optional(place: str, parameter: Parameter) -> dict[str, object]:
    return {
        "name": parameter.name,
        "in": place,
        "required": False,
        "description": parameter.description,
        "schema": {"type": parameter.schema},
    }


def _build_responses(route: Route) -> dict[str, object]:
    success: dict[str, object] = {"description": route.summary}
    if route.answer is not None:
        success["content"] = _content("application/json", route.answer)
    elif route.media_type is not None:
        # A stream of events has no schema: each of its events would have to be of it.
        is_json = route.media_type == "application/json"
        success["content"] = {route.media_type: {"schema": {"type": "object"}} if is_json else {}}
    responses: dict[str, object] = {str(route.status): success}
    if route.otherwise is not None:
        status, when = route.otherwise
        responses[str(status)] = {"description": when}
    for status in sorted({*_common_failures(route), *route.failures}):
        responses[str(status)] = {
            "description": _DESCRIPTIONS[status],
            "content": _content(MEDIA_TYPE, Problem),
        }
    return responses


def _common_failures(route: Route) -> set[int]:
    failures = {500, 503}
    if route.authenticated:
        failures |= {401, 403}
    if route.request is not None:
        failures |= {400, 413}
    if "{" in route.path or route.query:
        failures.add(400)
    if "{" in route.path:
        failures.add(404)  # what does not look like an identifier may be no address at all
    return failures


def _content(media_type: str, model: type[BaseModel]) -> dict[str, object]:
    return {media_type: {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}


def _build_schemas(routes: Sequence[Route]) -> dict[str, object]:
    models = {model for route in routes for model in (route.request, route.answer) if model} | {Problem}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, schema = models_json_schema(
        [(model, "validation") for model in ordered], ref_template=_REFERENCE, by_alias=True
    )
    return dict(schema["$defs"])
