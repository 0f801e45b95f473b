"""Which files of a folder can be indexed, and what is in them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from local.errors import LocalError

SUPPORTED = frozenset((".md", ".html", ".htm", ".txt", ".rst", ".pdf"))


@dataclass(frozen=True, slots=True)
class Source:
    """A file to index: `path` is relative to the folder given, with forward slashes."""

    path: str
    file: Path
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Walk:
    """What a folder holds, each in the order of its path."""

    sources: tuple[Source, ...]
    unsupported: tuple[str, ...]


def walk(root: Path) -> Walk:
    """Read a folder, or one file. Hidden files and folders are passed over; links are not followed out.

    Raises:
        LocalError: there is no such path, or nothing in it can be indexed.
    """
    if not root.exists():
        raise LocalError(f"there is no {root}", "give the path of a folder or a file")
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if _belongs(path, root))
    base = root.parent if root.is_file() else root
    sources = tuple(_read(file, base) for file in files if file.suffix.lower() in SUPPORTED)
    unsupported = tuple(str(file.relative_to(base)) for file in files if file.suffix.lower() not in SUPPORTED)
    if not sources:
        kinds = " ".join(sorted(SUPPORTED))
        raise LocalError(
            f"{root} holds nothing that can be indexed ({len(files)} files)", f"supported: {kinds}"
        )
    return Walk(sources, unsupported)


def _belongs(path: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return not hidden and path.is_file() and path.resolve().is_relative_to(root.resolve())


def _read(file: Path, base: Path) -> Source:
    content = file.read_bytes()
    relative = file.relative_to(base).as_posix()
    return Source(relative, file, hashlib.sha256(content).hexdigest(), len(content))
