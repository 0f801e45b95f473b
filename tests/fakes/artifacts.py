"""Artifacts' bodies, in memory."""

import threading

from equerry.kernel.errors import NotFound, TooLarge
from equerry.ports.artifacts import MAX_ARTIFACT_BYTES, ArtifactKey


class MemoryArtifactStoreAdapter:
    """ArtifactStorePort over a dictionary."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def store_artifact(self, key: ArtifactKey, body: bytes) -> None:
        if len(body) > MAX_ARTIFACT_BYTES:
            raise TooLarge(f"an artifact may have {MAX_ARTIFACT_BYTES} bytes, got {len(body)}")
        with self._lock:
            self._bodies[str(key)] = body

    def fetch_artifact(self, key: ArtifactKey) -> bytes:
        with self._lock:
            if str(key) not in self._bodies:
                raise NotFound("there is no such artifact")
            return self._bodies[str(key)]

    def delete_artifacts(self, prefix: str) -> None:
        if not prefix.endswith("/"):
            raise ValueError(f"a prefix ends in a slash, got {prefix!r}")
        with self._lock:
            self._bodies = {key: body for key, body in self._bodies.items() if not key.startswith(prefix)}

    def list_keys(self) -> tuple[str, ...]:
        """Return every key, sorted."""
        with self._lock:
            return tuple(sorted(self._bodies))
