"""An issuer's published keys: fetched, kept and refreshed without ever hammering the issuer."""

import base64
import binascii
import json
import threading
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from equerry.adapters.addresses import parse_service_address
from equerry.kernel.clock import Clock
from equerry.kernel.errors import Unavailable

TIMEOUT_S = 3.0
MAX_BYTES = 256 * 1024
FRESH_S = 300.0
"""Keys older than this are fetched again, so that one the issuer withdrew stops working."""
UNKNOWN_PAUSE_S = 10.0
"""An unknown key id may be a rotation, but strangers can make up as many as they like."""
STALE_PAUSE_S = 30.0
"""While the issuer does not answer, the keys at hand are good enough to wait this long between attempts."""
EMPTY_PAUSE_S = 2.0
"""The same, with no keys at hand."""

Keys = Mapping[str, Ed25519PublicKey]


class _MalformedKeys(ValueError):
    """The issuer's answer is not a key set."""


class PublishedKeys:
    """The Ed25519 keys at one JWKS address, by key id; shared by threads."""

    def __init__(self, jwks_url: str, clock: Clock) -> None:
        """Fetch nothing yet.

        Raises:
            ValueError: the address is blank, or is http beyond this machine, where others could answer.
        """
        self._url = parse_service_address(jwks_url, setting="AUTH_JWKS_URL")
        self._clock = clock
        self._opener = _make_opener()
        self._lock = threading.Lock()
        self._keys: Keys | None = None
        self._fetched_s = self._tried_s = self._searched_s = float("-inf")

    def find_key(self, kid: str) -> Ed25519PublicKey | None:
        """Return the issuer's key of that id; None if the issuer publishes none.

        Keys once fetched keep working while the issuer does not answer.

        Raises:
            Unavailable: no keys were ever had, and none can be had now.
        """
        with self._lock:
            now = self._clock.monotonic_s()
            if self._is_due(kid, now):
                if self._keys is not None and kid not in self._keys:
                    self._searched_s = now
                self._refresh(now)
            if self._keys is None:
                raise Unavailable("the identity service's keys cannot be had", retry_after_s=2)
            return self._keys.get(kid)

    def _is_due(self, kid: str, now: float) -> bool:
        if self._keys is None:
            return now - self._tried_s >= EMPTY_PAUSE_S
        if kid not in self._keys:
            return now - self._searched_s >= UNKNOWN_PAUSE_S
        return now - self._fetched_s >= FRESH_S and now - self._tried_s >= STALE_PAUSE_S

    def _refresh(self, now: float) -> None:
        self._tried_s = now
        try:
            self._keys = _parse_keys(self._download())
        except HTTPError as error:
            error.close()
        except (OSError, HTTPException, _MalformedKeys):
            return
        else:
            self._fetched_s = now

    def _download(self) -> bytes:
        request = Request(self._url, headers={"accept": "application/json"})  # noqa: S310  # checked when built
        until_s = self._clock.monotonic_s() + TIMEOUT_S
        content = b""
        with self._opener.open(request, timeout=TIMEOUT_S) as answer:
            while len(content) <= MAX_BYTES and (more := answer.read1(MAX_BYTES)):
                content += more
                # A server that sends a byte now and then is never silent for as long as it may be.
                if self._clock.monotonic_s() >= until_s:
                    raise TimeoutError("the issuer takes too long to answer")
        if len(content) > MAX_BYTES:
            raise _MalformedKeys(f"more than {MAX_BYTES} bytes")
        return content


def _make_opener() -> OpenerDirector:
    """Return an opener that follows no redirect: the keys are where the configuration says."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _parse_keys(content: bytes) -> Keys:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise _MalformedKeys("not JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("keys"), list):
        raise _MalformedKeys("no list of keys")
    named = ((key["kid"], _parse_key(key)) for key in found["keys"] if _is_ours(key))
    return {kid: key for kid, key in named if key}


def _is_ours(key: Any) -> bool:
    return (
        isinstance(key, dict)
        and (key.get("kty"), key.get("crv")) == ("OKP", "Ed25519")
        and key.get("alg", "EdDSA") in ("EdDSA", "Ed25519")
        and key.get("use", "sig") == "sig"
        and isinstance(key.get("kid"), str)
        and isinstance(key.get("x"), str)
    )


def _parse_key(key: Mapping[str, str]) -> Ed25519PublicKey | None:
    text = key["x"]
    try:
        return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        return None
