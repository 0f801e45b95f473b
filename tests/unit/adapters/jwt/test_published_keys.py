"""How an issuer's keys are fetched, kept and refreshed."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from equerry.adapters.jwt.identity import JwksIdentityAdapter
from equerry.adapters.jwt.keys import MAX_BYTES, TIMEOUT_S, PublishedKeys
from equerry.kernel.errors import Unauthenticated, Unavailable

from tests.contract.issuer import Issuer, serve_issuer
from tests.fakes.clock import NOON, FixedClock, SteppingClock


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serve_issuer() as serving:
        yield serving


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def keys(issuer: Issuer, clock: FixedClock) -> PublishedKeys:
    return PublishedKeys(issuer.url, clock)


@pytest.mark.parametrize("url", ["", "  ", "\n"])
def test_without_an_address_no_verifier_can_be_made(url: str) -> None:
    with pytest.raises(ValueError, match="AUTH_JWKS_URL"):
        JwksIdentityAdapter(jwks_url=url, issuer="i", audience="a", clock=FixedClock())


@pytest.mark.parametrize(
    "url",
    ["http://id.example.test/keys", "http://10.0.0.1/keys", "file:///etc/passwd", "keys.json", "https://"],
)
def test_keys_are_not_read_from_where_others_could_answer(url: str) -> None:
    with pytest.raises(ValueError, match="AUTH_JWKS_URL"):
        PublishedKeys(url, FixedClock())


@pytest.mark.parametrize("url", ["https://id.example.test/keys", "http://localhost:1/k", "http://[::1]:1/k"])
def test_keys_are_read_over_https_or_from_this_machine(url: str) -> None:
    PublishedKeys(url, FixedClock())


@pytest.mark.parametrize(("issuer_name", "audience"), [("", "a"), (" ", "a"), ("i", ""), ("i", " ")])
def test_without_issuer_or_audience_no_verifier_can_be_made(issuer_name: str, audience: str) -> None:
    with pytest.raises(ValueError, match="must not be blank"):
        JwksIdentityAdapter(
            jwks_url="https://id.example.test", issuer=issuer_name, audience=audience, clock=FixedClock()
        )


def test_keys_are_fetched_once_and_kept(keys: PublishedKeys, issuer: Issuer, clock: FixedClock) -> None:
    for _ in range(5):
        assert keys.find_key("key-1") is not None
        clock.advance(59)

    assert issuer.requests == 1


@pytest.mark.req("A-AUTH-17")
def test_a_rotated_key_is_picked_up_at_its_first_use(keys: PublishedKeys, issuer: Issuer) -> None:
    keys.find_key("key-1")

    kid = issuer.rotate()

    assert keys.find_key(kid) is not None
    assert keys.find_key("key-1") is not None
    assert issuer.requests == 2


def test_a_withdrawn_key_stops_working(keys: PublishedKeys, issuer: Issuer, clock: FixedClock) -> None:
    keys.find_key("key-1")
    issuer.rotate()
    issuer.published.remove("key-1")

    clock.advance(300)

    assert keys.find_key("key-1") is None


def test_made_up_key_ids_cannot_hammer_the_issuer(
    keys: PublishedKeys, issuer: Issuer, clock: FixedClock
) -> None:
    keys.find_key("key-1")

    for number in range(1_000):
        assert keys.find_key(f"junk-{number}") is None
        clock.advance(0.02)  # 20 s in all

    assert issuer.requests <= 4


def test_a_rotation_is_found_behind_made_up_key_ids(
    keys: PublishedKeys, issuer: Issuer, clock: FixedClock
) -> None:
    keys.find_key("key-1")
    keys.find_key("junk")
    kid = issuer.rotate()

    assert keys.find_key(kid) is None
    clock.advance(10)

    assert keys.find_key(kid) is not None


@pytest.mark.parametrize("answer", [None, b"", b"<html>", b"[]", b"{}", b'{"keys":7}', b"[" * 100_000])
def test_keys_at_hand_outlive_the_issuer(
    keys: PublishedKeys, issuer: Issuer, clock: FixedClock, answer: bytes | None
) -> None:
    keys.find_key("key-1")
    issuer.trouble, issuer.answer = 500, answer

    for _ in range(100):
        clock.advance(15)
        assert keys.find_key("key-1") is not None

    assert issuer.requests <= 1 + 100 * 15 / 30


def test_an_issuer_that_comes_back_is_asked_again(
    keys: PublishedKeys, issuer: Issuer, clock: FixedClock
) -> None:
    issuer.trouble = 503
    for _ in range(10):
        with pytest.raises(Unavailable):
            keys.find_key("key-1")
    requests = issuer.requests

    issuer.trouble = None
    clock.advance(2)

    assert requests == 1
    assert keys.find_key("key-1") is not None


def test_a_redirect_is_not_followed(keys: PublishedKeys, issuer: Issuer) -> None:
    issuer.trouble = 302

    with pytest.raises(Unavailable):
        keys.find_key("key-1")


def test_an_endless_answer_is_not_read_to_its_end(keys: PublishedKeys, issuer: Issuer) -> None:
    issuer.answer = json.dumps({"keys": issuer.key_set(), "x": "x" * MAX_BYTES}).encode()

    with pytest.raises(Unavailable):
        keys.find_key("key-1")


def test_an_answer_that_comes_in_drips_is_given_up_on(issuer: Issuer) -> None:
    with pytest.raises(Unavailable):
        PublishedKeys(issuer.url, SteppingClock(step_s=TIMEOUT_S)).find_key("key-1")

    assert issuer.requests == 1


def test_an_issuer_that_says_nothing_is_given_up_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        keys = PublishedKeys(f"http://127.0.0.1:{silent.getsockname()[1]}/keys", FixedClock())

        with pytest.raises(Unavailable):
            keys.find_key("key-1")


def test_an_issuer_that_is_not_there_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(Unavailable):
        PublishedKeys(f"http://127.0.0.1:{port}/keys", FixedClock()).find_key("key-1")


def test_only_keys_for_verifying_eddsa_are_taken(keys: PublishedKeys, issuer: Issuer) -> None:
    good = issuer.key_set()[0]
    bad: list[object] = [
        good | {"kid": "rsa", "kty": "RSA"},
        good | {"kid": "448", "crv": "Ed448"},
        good | {"kid": "enc", "use": "enc"},
        good | {"kid": "hs", "alg": "HS256"},
        good | {"kid": "short", "x": "AAAA"},
        good | {"kid": "junk", "x": "not base64 ü"},
        good | {"kid": "number", "x": 7},
        good | {"kid": 7},
        {"kty": "oct", "kid": "oct", "k": "c2VjcmV0"},
        "key",
        None,
    ]
    issuer.answer = json.dumps({"keys": [*bad, good]}).encode()

    taken = [
        kid
        for kid in ("rsa", "448", "enc", "hs", "short", "junk", "number", "oct", "key-1")
        if keys.find_key(kid) is not None
    ]

    assert taken == ["key-1"]


def test_threads_that_arrive_together_fetch_once(keys: PublishedKeys, issuer: Issuer) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: keys.find_key("key-1"), range(32)))

    assert None not in found
    assert issuer.requests == 1


@pytest.mark.parametrize(
    "other", [{"iss": "https://elsewhere.test"}, {"iss": ""}, {"aud": ["billing"]}, {"aud": []}]
)
def test_a_token_of_another_issuer_or_for_another_audience_is_refused(
    issuer: Issuer, clock: FixedClock, other: dict[str, object]
) -> None:
    verifier = JwksIdentityAdapter(jwks_url=issuer.url, issuer=issuer.name, audience="equerry", clock=clock)
    claims: dict[str, object] = {
        "iss": issuer.name,
        "aud": ["other", "equerry"],
        "sub": "ann",
        "typ": "user",
        "org": "acme",
        "role": "member",
        "iat": NOON.timestamp(),
        "exp": NOON.timestamp() + 900,
    }

    assert verifier.verify(issuer.sign(claims)).scope.user_id == "ann"
    with pytest.raises(Unauthenticated):
        verifier.verify(issuer.sign(claims | other))
    for missing in ("iss", "aud", "sub", "iat", "exp"):
        with pytest.raises(Unauthenticated):
            verifier.verify(issuer.sign({name: entry for name, entry in claims.items() if name != missing}))
