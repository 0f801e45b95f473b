"""Identifiers and secrets."""

import secrets
import uuid


def new_identifier() -> str:
    """Return a fresh random UUID."""
    return str(uuid.uuid4())


def new_secret() -> str:
    """Return 256 unguessable bits, URL-safe."""
    return secrets.token_urlsafe(32)


def new_nonce() -> str:
    """Return a turn's fence nonce: 128 unguessable bits, URL-safe."""
    return secrets.token_urlsafe(16)
