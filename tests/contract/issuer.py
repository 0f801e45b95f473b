"""A small real issuer: Ed25519 keys, signed tokens and a key set served over HTTP."""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class Issuer:
    """Signs with its newest key and publishes those of `published`.

    `trouble` is a status to answer with instead of the keys, `answer` a body; `requests` counts.
    """

    name = "https://id.example.test"

    def __init__(self) -> None:
        self.keys: dict[str, Ed25519PrivateKey] = {}
        self.published: list[str] = []
        self.trouble: int | None = None
        self.answer: bytes | None = None
        self.requests = 0
        self.url = ""
        self.rotate()

    def rotate(self, *, publish: bool = True) -> str:
        """Make a new signing key; return its id."""
        kid = f"key-{len(self.keys) + 1}"
        self.keys[kid] = Ed25519PrivateKey.generate()
        if publish:
            self.published.append(kid)
        return kid

    def sign(self, claims: Mapping[str, object], *, kid: str | None = None) -> str:
        """Return a token, signed with the newest key or the named one."""
        kid = kid or list(self.keys)[-1]
        return jwt.encode(dict(claims), self.keys[kid], algorithm="EdDSA", headers={"kid": kid})

    def public_bytes(self, kid: str) -> bytes:
        """Return a key's public half, raw."""
        return self.keys[kid].public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def key_set(self) -> list[dict[str, object]]:
        """Return the published keys as JWKs."""
        return [
            {
                "kty": "OKP",
                "crv": "Ed25519",
                "use": "sig",
                "alg": "EdDSA",
                "kid": kid,
                "x": base64.urlsafe_b64encode(self.public_bytes(kid)).rstrip(b"=").decode(),
            }
            for kid in self.published
        ]

    def respond(self) -> tuple[int, bytes]:
        """Return status and body for one request."""
        self.requests += 1
        if self.answer is not None:
            return 200, self.answer
        return self.trouble or 200, json.dumps({"keys": self.key_set()}).encode()


@contextmanager
def serve_issuer() -> Iterator[Issuer]:
    """Serve an issuer on a free loopback port."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/elsewhere":
                status, body = 200, json.dumps({"keys": issuer.key_set()}).encode()
            else:
                status, body = issuer.respond()
            self.send_response(status)
            if status == 302:
                self.send_header("location", "/elsewhere")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_address[1]}/.well-known/jwks.json"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
