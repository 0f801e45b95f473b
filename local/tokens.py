"""Tokens of the local stack's people, in the form the product's own issuer would give."""

import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jwt

from local.keys import KeyRing
from local.places import Places

AUDIENCE = "equerry"
LIFETIME_S = 12 * 3600
SERVICE_LIFETIME_S = 60
USERS = Path(__file__).with_name("users.toml")

Role = Literal["member", "admin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who can sign in to the local stack."""

    user_id: str
    organisation_id: str
    role: Role
    name: str
    projects: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, str]:
        """Return the person as the chat page reads it."""
        return {
            "userId": self.user_id,
            "organisationId": self.organisation_id,
            "name": self.name,
            "role": self.role,
        }


def load_people(path: Path = USERS) -> tuple[Person, ...]:
    """Read the demo users, in the file's order."""
    entries = tomllib.loads(path.read_text())["users"]
    return tuple(
        Person(
            user_id=entry["userId"],
            organisation_id=entry["organisationId"],
            role=entry["role"],
            name=entry["name"],
            projects=tuple(entry.get("projects", ())),
        )
        for entry in entries
    )


@dataclass(frozen=True, slots=True)
class Mint:
    """Signs tokens under an issuer's name."""

    issuer: str
    keys: KeyRing
    now: Callable[[], float] = time.time

    def sign(self, person: Person) -> tuple[str, int]:
        """Return a token for a person and the second it expires at (12 hours from now)."""
        issued = int(self.now())
        expires = issued + LIFETIME_S
        claims = {
            "iss": self.issuer,
            "aud": [AUDIENCE],
            "sub": person.user_id,
            "typ": "user",
            "org": person.organisation_id,
            "role": person.role,
            "name": person.name,
            "iat": issued,
            "exp": expires,
        }
        key = self.keys.load_signing_key()
        return jwt.encode(claims, key.private, algorithm="EdDSA", headers={"kid": key.kid}), expires

    def sign_service(self, scope: str) -> str:
        """Return a token of this service's own, good for a minute, for the product itself."""
        issued = int(self.now())
        claims = {
            "iss": self.issuer,
            "aud": [self.issuer],
            "sub": "equerry",
            "typ": "service",
            "scope": scope,
            "iat": issued,
            "exp": issued + SERVICE_LIFETIME_S,
        }
        key = self.keys.load_signing_key()
        return jwt.encode(claims, key.private, algorithm="EdDSA", headers={"kid": key.kid})


def build_mint(places: Places) -> Mint:
    """Return the mint over the keys in a stack's state folder."""
    return Mint(places.issuer_url, KeyRing(places.state / "issuer"))
