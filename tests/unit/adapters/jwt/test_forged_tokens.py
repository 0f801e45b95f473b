"""Tokens that somebody made up or changed, against a real key set."""

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from equerry.adapters.jwt.identity import MAX_TOKEN_CHARS, JwksIdentityAdapter
from equerry.kernel.errors import EquerryError, Unauthenticated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.issuer import Issuer, serve_issuer
from tests.fakes.clock import NOON, FixedClock

CLAIMS: dict[str, object] = {
    "iss": Issuer.name,
    "aud": ["equerry"],
    "sub": "ann",
    "typ": "user",
    "org": "acme",
    "role": "member",
    "iat": NOON.timestamp(),
    "exp": (NOON + timedelta(minutes=15)).timestamp(),
}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with serve_issuer() as serving:
        yield serving


@pytest.fixture(scope="module")
def verifier(issuer: Issuer) -> JwksIdentityAdapter:
    adapter = JwksIdentityAdapter(
        jwks_url=issuer.url, issuer=issuer.name, audience="equerry", clock=FixedClock()
    )
    adapter.verify(issuer.sign(CLAIMS))
    return adapter


def _encode(part: object) -> str:
    text = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _hmac_token(secret: bytes, *, alg: str = "HS256") -> str:
    signed = f"{_encode({'alg': alg, 'typ': 'JWT', 'kid': 'key-1'})}.{_encode(CLAIMS)}"
    return f"{signed}.{_encode(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


@pytest.mark.req("A-AUTH-01")
@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE", "", None])
@pytest.mark.parametrize("signature", ["", "AAAA"])
def test_a_token_without_an_algorithm_is_refused(
    verifier: JwksIdentityAdapter, alg: str | None, signature: str
) -> None:
    token = f"{_encode({'alg': alg, 'kid': 'key-1'})}.{_encode(CLAIMS)}.{signature}"

    with pytest.raises(Unauthenticated):
        verifier.verify(token)


@pytest.mark.req("A-AUTH-02")
@pytest.mark.parametrize("alg", ["HS256", "EdDSA"])
@pytest.mark.parametrize("form", ["raw", "pem", "der", "jwk", "empty"])
def test_the_public_key_is_no_shared_secret(
    verifier: JwksIdentityAdapter, issuer: Issuer, form: str, alg: str
) -> None:
    public = issuer.keys["key-1"].public_key()
    secrets = {
        "raw": issuer.public_bytes("key-1"),
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "jwk": str(issuer.key_set()[0]["x"]).encode(),
        "empty": b"",
    }

    with pytest.raises(Unauthenticated):
        verifier.verify(_hmac_token(secrets[form], alg=alg))


@pytest.mark.req("A-AUTH-01")
@pytest.mark.parametrize("alg", ["RS256", "PS256", "ES256", "EdDSA"])
def test_another_kind_of_key_is_refused(verifier: JwksIdentityAdapter, alg: str) -> None:
    keys: dict[str, Callable[[], rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed448.Ed448PrivateKey]] = {
        "RS256": lambda: rsa.generate_private_key(65537, 2048),
        "PS256": lambda: rsa.generate_private_key(65537, 2048),
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed448.Ed448PrivateKey.generate,
    }
    token = jwt.encode(CLAIMS, keys[alg](), algorithm=alg, headers={"kid": "key-1"})

    with pytest.raises(Unauthenticated):
        verifier.verify(token)


def test_a_key_that_rides_in_the_token_is_not_used(verifier: JwksIdentityAdapter) -> None:
    stranger = Issuer()
    jwk = stranger.key_set()[0]
    headers = {"kid": "key-1", "jwk": jwk, "jku": "http://127.0.0.1:9/keys", "x5u": "http://127.0.0.1:9/x"}
    token = jwt.encode(CLAIMS, stranger.keys["key-1"], algorithm="EdDSA", headers=headers)

    with pytest.raises(Unauthenticated):
        verifier.verify(token)


@pytest.mark.parametrize("kid", [None, "", "key-9", 7, ["key-1"], "k" * 257])
def test_a_token_must_name_a_published_key(
    verifier: JwksIdentityAdapter, issuer: Issuer, kid: object
) -> None:
    header = {"alg": "EdDSA"} if kid is None else {"alg": "EdDSA", "kid": kid}
    signed = f"{_encode(header)}.{_encode(CLAIMS)}"
    token = f"{signed}.{_encode(issuer.keys['key-1'].sign(signed.encode()))}"

    with pytest.raises(Unauthenticated):
        verifier.verify(token)


def test_changed_claims_break_the_signature(verifier: JwksIdentityAdapter, issuer: Issuer) -> None:
    header, _, signature = issuer.sign(CLAIMS).split(".")

    with pytest.raises(Unauthenticated):
        verifier.verify(f"{header}.{_encode(CLAIMS | {'role': 'admin'})}.{signature}")


@pytest.mark.parametrize("header", [{"crit": ["exp"]}, {"crit": ["b64"], "b64": False}, {"b64": False}])
def test_a_header_that_changes_the_rules_is_refused(
    verifier: JwksIdentityAdapter, issuer: Issuer, header: dict[str, object]
) -> None:
    signed = f"{_encode({'alg': 'EdDSA', 'kid': 'key-1', **header})}.{_encode(CLAIMS)}"
    token = f"{signed}.{_encode(issuer.keys['key-1'].sign(signed.encode()))}"
    if "crit" not in header:
        payload = json.dumps(CLAIMS).encode()
        head = _encode({"alg": "EdDSA", "kid": "key-1", **header})
        token = f"{head}..{_encode(issuer.keys['key-1'].sign(head.encode() + b'.' + payload))}"

    with pytest.raises(Unauthenticated):
        verifier.verify(token)


@pytest.mark.parametrize("payload", [b"[]", b"1", b'"x"', b"{", b"\xff\xfe", b"[" * 4000, b"{}"])
def test_a_payload_that_is_no_object_is_refused_even_when_signed(
    verifier: JwksIdentityAdapter, issuer: Issuer, payload: bytes
) -> None:
    signed = f"{_encode({'alg': 'EdDSA', 'kid': 'key-1'})}.{_encode(payload)}"
    token = f"{signed}.{_encode(issuer.keys['key-1'].sign(signed.encode()))}"

    with pytest.raises(Unauthenticated):
        verifier.verify(token)


def test_a_deeply_nested_header_is_refused_like_any_other(verifier: JwksIdentityAdapter) -> None:
    with pytest.raises(Unauthenticated):
        verifier.verify(f"{_encode(b'[' * 5000)}.{_encode(CLAIMS)}.AAAA")


def test_a_token_of_bounded_size_is_read_and_a_larger_one_is_not(
    verifier: JwksIdentityAdapter, issuer: Issuer
) -> None:
    short = issuer.sign(CLAIMS | {"padding": "x" * 5_000})
    long = issuer.sign(CLAIMS | {"padding": "x" * 7_000})
    assert len(short) <= MAX_TOKEN_CHARS < len(long)

    assert verifier.verify(short).scope.user_id == "ann"
    with pytest.raises(Unauthenticated):
        verifier.verify(long)


def test_no_part_of_a_token_is_in_what_is_raised_or_logged(
    verifier: JwksIdentityAdapter, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    header, payload, signature = issuer.sign(CLAIMS | {"role": "s3cret-role"}).split(".")
    tokens = [f"{header}.{payload}.{signature}", f"{header}.{payload}.AAAA", f"{header}.{payload}"]

    with caplog.at_level(logging.DEBUG):
        said = [str(_refusal(verifier, token)) for token in tokens] + [caplog.text]

    for part in (header, payload, signature, "s3cret-role"):
        assert not any(part in text for text in said)


def _refusal(verifier: JwksIdentityAdapter, token: str) -> EquerryError:
    with pytest.raises(Unauthenticated) as refused:
        verifier.verify(token)
    assert refused.value.__cause__ is None
    return refused.value


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    token=st.one_of(
        st.text(max_size=200),
        st.lists(st.binary(max_size=60), min_size=2, max_size=4).map(
            lambda parts: ".".join(_encode(part) for part in parts)
        ),
    )
)
def test_whatever_arrives_is_answered_with_a_foreseen_refusal(
    verifier: JwksIdentityAdapter, token: str
) -> None:
    with pytest.raises(Unauthenticated):
        verifier.verify(token)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_one_changed_character_is_enough(
    verifier: JwksIdentityAdapter, issuer: Issuer, data: st.DataObject
) -> None:
    token = issuer.sign(CLAIMS)
    place = data.draw(st.integers(0, len(token) - 2))  # the last character's low bits are padding
    new = data.draw(st.sampled_from("AZaz09-_.").filter(lambda character: character != token[place]))

    with pytest.raises(Unauthenticated):
        verifier.verify(token[:place] + new + token[place + 1 :])
