"""The issuer's signing keys: Ed25519, kept in the state folder, replaceable without a break."""

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEPT = 2


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and the identifier tokens name it by."""

    kid: str
    private: Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The newest key signs; the one before it still verifies, so a rotation breaks no token in use."""

    folder: Path

    def load_signing_key(self) -> SigningKey:
        """Return the newest key, made now if there is none."""
        files = self._files()
        return _load(files[-1]) if files else self.rotate()

    def rotate(self) -> SigningKey:
        """Make a new signing key; keys before the last one are forgotten."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = self._files()
        path = self.folder / f"{int(files[-1].stem) + 1 if files else 1:06d}.pem"
        path.touch(mode=0o600)
        private = Ed25519PrivateKey.generate()
        path.write_bytes(
            private.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        for old in self._files()[:-KEPT]:
            old.unlink()
        return _load(path)

    def build_jwks(self) -> dict[str, list[dict[str, str]]]:
        """Return the public keys as a JSON Web Key Set."""
        self.load_signing_key()
        return {"keys": [_to_jwk(_load(path)) for path in self._files()]}

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.pem"))


def _load(path: Path) -> SigningKey:
    private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(private, Ed25519PrivateKey):
        raise TypeError(f"{path} holds no Ed25519 key")
    return SigningKey(hashlib.sha256(_public(private)).hexdigest()[:16], private)


def _public(private: Ed25519PrivateKey) -> bytes:
    return private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def _to_jwk(key: SigningKey) -> dict[str, str]:
    x = base64.urlsafe_b64encode(_public(key.private)).rstrip(b"=").decode()
    return {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": key.kid, "x": x}
