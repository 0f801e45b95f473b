"""Tokens with the verdict each must get, for this verifier and for any other of the same tokens."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER, AUDIENCE, NOW = "https://id.example.com", "equerry", 1_800_000_000
KID, UNPUBLISHED = "vectors-1", "vectors-2"
Claims = Mapping[str, object]
Vector = tuple[str, str, Mapping[str, object]]

_REFUSED = {"refused": "unauthenticated"}
_TIMES: Claims = {"iss": ISSUER, "aud": [AUDIENCE], "iat": NOW - 60, "exp": NOW + 840}
_USER: Claims = {**_TIMES, "typ": "user", "sub": "auth0|ann", "org": "acme", "role": "member"}
_SERVICE: Claims = {**_TIMES, "typ": "service", "sub": "batch", "scope": "runs:read runs:write"}
_ANN = {"user": {"sub": "auth0|ann", "org": "acme", "role": "member", "projects": []}}
_BATCH = {"service": {"sub": "batch", "scopes": ["runs:read", "runs:write"]}}


def write_token_vectors() -> str:
    """Return the file: keys, the moment of judgement, and tokens with their verdicts."""
    vectors = [
        {"name": name, "token": token, "verdict": verdict}
        for name, token, verdict in (*_list_claims(), *_list_forgeries())
    ]
    head = {"issuer": ISSUER, "audience": AUDIENCE, "now": NOW, "leewaySeconds": 30}
    keys = {"keys": [_describe(KID)]}
    return json.dumps({**head, "jwks": keys, "vectors": vectors}, indent=2, ensure_ascii=False) + "\n"


def _list_claims() -> Iterator[Vector]:
    """Yield well-signed tokens, judged by what they say."""
    judged: tuple[tuple[str, Claims, Mapping[str, object]], ...] = (
        ("a member", _USER, _ANN),
        ("an administrator of two projects", _ADMIN, _ANN_OF_TWO),
        ("an audience that is text", {**_USER, "aud": AUDIENCE}, _ANN),
        ("a claim that nobody knows", {**_USER, "shoe_size": 41}, _ANN),
        ("a billing claim that is none", {**_USER, "billing": "paid"}, _ANN),
        ("a service", _SERVICE, _BATCH),
        ("a service for others too", {**_SERVICE, "aud": ["search", AUDIENCE]}, _BATCH),
        ("ended within the leeway", {**_USER, "exp": NOW - 29}, _ANN),
        ("begins within the leeway", {**_USER, "iat": NOW + 29, "nbf": NOW + 29}, _ANN),
        ("no organisation", _without(_USER, "org"), {"refused": "organisation_required"}),
        *((name, claims, _REFUSED) for name, claims in _REFUSED_CLAIMS.items()),
    )
    for name, claims, verdict in judged:
        yield name, _sign(claims), verdict


def _list_forgeries() -> Iterator[Vector]:
    """Yield tokens that say what a member's says, and are not of the issuer's hand."""
    head, body, signature = _sign(_USER).split(".")
    other = _sign({**_USER, "role": "admin"}).split(".")
    public = _key(KID).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    unsigned = _encode({"alg": "none", "kid": KID}) + f".{body}."
    shared = jwt.encode(dict(_USER), public, algorithm="HS256", headers={"kid": KID})
    for name, token in (
        ("a key that is not published", _sign(_USER, kid=UNPUBLISHED)),
        ("another key under a published name", _sign(_USER, kid=UNPUBLISHED, named=KID)),
        ("no name of a key", _sign(_USER, named=None)),
        ("no signature", unsigned),
        ("a shared secret, which is the public key", shared),
        ("another's signature", f"{head}.{body}.{other[2]}"),
        ("claims changed after they were signed", f"{head}.{other[1]}.{signature}"),
        ("no token", "no.token.at-all"),
        ("nothing", ""),
    ):
        yield name, token, _REFUSED


def _without(claims: Claims, *names: str) -> Claims:
    return {name: value for name, value in claims.items() if name not in names}


_ADMIN: Claims = {**_USER, "role": "admin", "projects": ["apollo", "zeus"]}
_ANN_OF_TWO = {"user": {"sub": "auth0|ann", "org": "acme", "role": "admin", "projects": ["apollo", "zeus"]}}
_REFUSED_CLAIMS: Mapping[str, Claims] = {
    "ended beyond the leeway": {**_USER, "exp": NOW - 31},
    "issued beyond the leeway": {**_USER, "iat": NOW + 31},
    "begins beyond the leeway": {**_USER, "nbf": NOW + 31},
    "an end that is text": {**_USER, "exp": "tomorrow"},
    "no end": _without(_USER, "exp"),
    "no moment of issue": _without(_USER, "iat"),
    "another issuer": {**_USER, "iss": "https://id.example.org"},
    "another audience": {**_USER, "aud": ["search"]},
    "no kind": _without(_USER, "typ"),
    "an unknown kind": {**_USER, "typ": "robot"},
    "a user with a scope": {**_USER, "scope": "runs:read"},
    "a user without a role": _without(_USER, "role"),
    "a user with an unknown role": {**_USER, "role": "owner"},
    "a user without a name": _without(_USER, "sub"),
    "a user whose id holds a comma": {**_USER, "sub": "ann,bob"},
    "an organisation whose id holds a slash": {**_USER, "org": "acme/corp"},
    "projects that are text": {**_USER, "projects": "apollo"},
    "a service with a role": {**_SERVICE, "role": "admin"},
    "a service for others alone": {**_SERVICE, "aud": ["search"]},
    "a service whose audience is text": {**_SERVICE, "aud": AUDIENCE},
    "a service without a scope": _without(_SERVICE, "scope"),
}


def _sign(claims: Claims, *, kid: str = KID, named: str | None = "") -> str:
    """Sign with a key, under its own name, another or (None) none; the same claims give the same token."""
    names = {} if named is None else {"kid": named or kid}
    return jwt.encode(dict(claims), _key(kid), algorithm="EdDSA", headers=names)


def _key(kid: str) -> Ed25519PrivateKey:
    """Return a key that anybody can make, and nobody may trust outside these vectors."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(kid.encode()).digest())


def _describe(kid: str) -> dict[str, str]:
    public = _key(kid).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": kid, "x": _unpadded(public)}


def _encode(part: Mapping[str, object]) -> str:
    return _unpadded(json.dumps(part, separators=(",", ":")).encode())


def _unpadded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
