"""A small real token issuer for development: signs for the demo users, on loopback only.

It asks for no password. Whoever can reach it is the developer at this machine; pages of other origins, and
names that merely resolve to this machine, are refused.
"""

import json
import sys
from http import HTTPStatus

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.directory import build_directory_route
from local.memberships import FILE, Memberships
from local.organisations import build_organisation_routes
from local.places import Places
from local.tokens import Mint, Person, build_mint, load_people

OURSELVES = ["127.0.0.1", "localhost"]
JWKS_CACHE_S = 60
BODY_LIMIT = 4096


def build_app(mint: Mint, people: tuple[Person, ...], chat_origins: list[str]) -> Starlette:
    """Return the issuer's routes, with cross-origin answers for the chat page alone."""

    async def answer_jwks(_request: Request) -> Response:
        return JSONResponse(mint.keys.build_jwks(), headers={"Cache-Control": f"max-age={JWKS_CACHE_S}"})

    async def answer_token(request: Request) -> Response:
        person = _find(people, await _read_body(request))
        if person is None:
            return _refuse(
                HTTPStatus.FORBIDDEN, "this issuer signs for the demo users alone (local/users.toml)"
            )
        token, expires = mint.sign(person)
        return JSONResponse({"token": token, "expiresAt": expires}, headers={"Cache-Control": "no-store"})

    state = mint.keys.folder.parent
    return Starlette(
        routes=[
            Route("/.well-known/jwks.json", answer_jwks),
            Route("/token", answer_token, methods=["POST"]),
            build_directory_route(Memberships(state / FILE)),
            *build_organisation_routes(mint, people, state),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=OURSELVES),
            Middleware(
                CORSMiddleware,
                allow_origins=chat_origins,
                allow_methods=["POST"],
                allow_headers=["content-type"],
            ),
        ],
    )


async def _read_body(request: Request) -> object:
    body = await request.body()
    if len(body) > BODY_LIMIT:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return None


def _find(people: tuple[Person, ...], asked: object) -> Person | None:
    if not isinstance(asked, dict):
        return None
    wanted = (asked.get("userId"), asked.get("organisationId"))
    for person in people:
        known = (person.user_id, person.organisation_id)
        if wanted == known and asked.get("role", person.role) == person.role:
            return person
    return None


def _refuse(status: HTTPStatus, detail: str) -> Response:
    problem = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    return JSONResponse(problem, status_code=status, media_type="application/problem+json")


def main() -> None:
    """Serve on loopback until told to stop."""
    places = Places.from_env()
    origins = [places.chat_url, f"http://localhost:{places.chat}"]
    sys.stderr.write("This issuer is for development: it signs in anybody at this machine.\n")
    app = build_app(build_mint(places), load_people(), origins)
    uvicorn.run(app, host="127.0.0.1", port=places.issuer, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
