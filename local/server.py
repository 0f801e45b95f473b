"""The chat page and the API on one loopback address, as a product's own domain would offer them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local.files import read_json
from local.places import ROOT, STACK, Places
from local.tokens import Person, load_people

PAGE = ROOT / "client" / "dist"
REWRITTEN = frozenset(("date", "server", "x-content-type-options"))
HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "host"),
    )
)
UPSTREAM_TIMEOUT = httpx.Timeout(60, connect=5)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
"""What an API's catch-all route passes on; without origins of its own, OPTIONS too."""


class SecurityHeaders:
    """Adds to every answer what a deployed site would send: the page may load and call only what it needs."""

    def __init__(self, app: ASGIApp, places: Places) -> None:
        sockets = f"ws://127.0.0.1:{places.emulator} ws://localhost:{places.emulator}"
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
            f"connect-src 'self' {places.issuer_url} {sockets}; "
            "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        )
        self._app = app
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await self._app(scope, receive, send_more if scope["type"] == "http" else send)


class PrintablePaths:
    """Refuses a path that, decoded, holds a control character: no resource has one, and no file can."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._app
        if scope["type"] == "http" and CONTROL.search(scope["path"]):
            detail = "the path holds a control character"
            answer = _problem(400, detail, title="Bad request", code="invalid_request")
        await answer(scope, receive, send)


class Proxy:
    """Passes a request on to the deployed HTTP API and its answer back, as they arrive."""

    def __init__(self, places: Places, client: httpx.AsyncClient) -> None:
        self._places = places
        self._client = client

    async def answer(self, request: Request) -> Response:
        """Pass one request on; 503 before the first deployment, 502 while the emulator is away."""
        api_id = find_api_id(self._places)
        if api_id is None:
            return _problem(503, "the stack is not deployed yet: run `make up`")
        url = httpx.URL(self._places.aws_url).copy_with(
            path=request.url.path, query=request.url.query.encode() or None
        )
        headers = [(name, text) for name, text in request.headers.raw if name.decode() not in HOP_BY_HOP]
        headers.append((b"host", f"{api_id}.execute-api.localhost:{self._places.emulator}".encode()))
        body = request.stream() if "content-length" in request.headers else None
        sent = self._client.build_request(request.method, url, headers=headers, content=body)
        try:
            answer = await self._client.send(sent, stream=True)
        except httpx.TransportError:
            return _problem(502, "the emulated API does not answer: see `make status`")
        passed = StreamingResponse(
            answer.aiter_raw(), status_code=answer.status_code, background=BackgroundTask(answer.aclose)
        )
        passed.raw_headers = [
            (name.lower(), text)
            for name, text in answer.headers.raw
            if name.lower().decode() not in HOP_BY_HOP | REWRITTEN
        ]
        return passed


def find_api_id(places: Places) -> str | None:
    """Return the deployed HTTP API's identifier; None before the first deployment."""
    outputs: dict[str, dict[str, str]] = read_json(places.outputs) or {}
    return outputs.get(STACK, {}).get("HttpApiId")


def build_app(places: Places, people: tuple[Person, ...], page: Path = PAGE) -> Starlette:
    """Return the page, its configuration and the proxied API."""
    config = {
        "apiUrl": "/api/assistant",
        "tokenUrl": f"{places.issuer_url}/token",
        "users": [person.to_wire() for person in people],
    }

    async def answer_config(_request: Request) -> Response:
        return JSONResponse(config, headers={"Cache-Control": "no-store"})

    trust = str(places.certificate) if places.enforce_iam else False
    client = httpx.AsyncClient(
        timeout=UPSTREAM_TIMEOUT, verify=trust, follow_redirects=False, trust_env=False
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    return Starlette(
        routes=[
            Route("/config.json", answer_config),
            Route("/api/assistant/{rest:path}", Proxy(places, client).answer, methods=METHODS),
            Mount("/", StaticFiles(directory=page, html=True, check_dir=False)),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
            Middleware(SecurityHeaders, places=places),
            Middleware(PrintablePaths),
        ],
        lifespan=lifespan,
    )


def _problem(status: int, detail: str, *, title: str = "Unavailable", code: str = "unavailable") -> Response:
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    return JSONResponse(content, status_code=status, media_type="application/problem+json")


def main() -> None:
    """Serve on loopback until told to stop."""
    places = Places.from_env()
    app = build_app(places, load_people())
    uvicorn.run(app, host="127.0.0.1", port=places.chat, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
