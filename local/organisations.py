"""The local stand-in for what a product knows of organisations, and for what mints our tokens for it."""

import tomllib
from http import HTTPStatus
from pathlib import Path

import jwt
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.tokens import Mint, Person

FILE = "organisations.toml"
SCOPE = "organisations:read"


def build_organisation_routes(mint: Mint, people: tuple[Person, ...], state: Path) -> list[Route]:
    """Return the routes of the stand-in.

    An organisation of a demo user is active, any other unknown, unless `organisations.toml` in the state
    folder says otherwise: `northwind = "disabled"`.
    """
    known = {person.organisation_id for person in people}

    async def answer_service_token(_request: Request) -> Response:
        token = mint.sign_service(SCOPE)
        return JSONResponse({"token": token}, headers={"Cache-Control": "no-store"})

    async def answer_status(request: Request) -> Response:
        if not _is_allowed(mint, request.headers.get("authorization", "")):
            return JSONResponse({"title": "Unauthorized"}, status_code=HTTPStatus.UNAUTHORIZED)
        organisation = request.path_params["organisation"]
        said = _read_statuses(state / FILE)
        status = said.get(organisation, "active" if organisation in known else "unknown")
        return JSONResponse({"status": status})

    return [
        Route("/service-token", answer_service_token, methods=["POST"]),
        Route("/organisations/{organisation}", answer_status),
    ]


def _is_allowed(mint: Mint, authorization: str) -> bool:
    scheme, _, token = authorization.partition(" ")
    key = mint.keys.load_signing_key().private.public_key()
    try:
        claims = jwt.decode(token, key, algorithms=["EdDSA"], audience=mint.issuer, issuer=mint.issuer)
    except jwt.InvalidTokenError:
        return False
    return scheme.lower() == "bearer" and claims.get("typ") == "service" and claims.get("scope") == SCOPE


def _read_statuses(path: Path) -> dict[str, str]:
    return dict(tomllib.loads(path.read_text())) if path.exists() else {}
