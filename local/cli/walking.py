"""Which files of a folder can be indexed, and what is in them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
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
    """What a folder holds, each in the order of its path.

    `unreadable` maps a path to the reason; `links` lead nowhere, out of the folder, or to a folder.
    """

    sources: tuple[Source, ...]
    unsupported: tuple[str, ...]
    empty: tuple[str, ...] = ()
    unreadable: dict[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()


def walk(root: Path) -> Walk:
    """Read a folder, or one file. Hidden files and folders are passed over; links are not followed out.

    Raises:
        LocalError: there is no such path, or nothing in it can be indexed.
    """
    if not root.exists():
        raise LocalError(f"there is no {root}", "give the path of a folder or a file")
    seen = (
        [root] if root.is_file() else sorted(path for path in root.rglob("*") if not _is_hidden(path, root))
    )
    files = [path for path in seen if path == root or _belongs(path, root)]
    base = root.parent if root.is_file() else root
    unsupported = tuple(str(file.relative_to(base)) for file in files if file.suffix.lower() not in SUPPORTED)
    found, unreadable = _read_all((file for file in files if file.suffix.lower() in SUPPORTED), base)
    sources = tuple(source for source in found if source.size_bytes)
    empty = tuple(source.path for source in found if not source.size_bytes)
    if not sources and not unreadable:
        kinds = " ".join(sorted(SUPPORTED))
        raise LocalError(
            f"{root} holds nothing that can be indexed ({len(files)} files, {len(empty)} of them empty)",
            f"supported: {kinds}",
        )
    followed = set(files)
    links = tuple(str(path.relative_to(base)) for path in seen if path.is_symlink() and path not in followed)
    return Walk(sources, unsupported, empty, unreadable, links)


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _belongs(path: Path, root: Path) -> bool:
    return path.is_file() and path.resolve().is_relative_to(root.resolve())


def _read_all(files: Iterable[Path], base: Path) -> tuple[list[Source], dict[str, str]]:
    found, unreadable = [], {}
    for file in files:
        path = file.relative_to(base).as_posix()
        try:
            path.encode()
            found.append(_read(file, base))
        except UnicodeEncodeError:
            unreadable[ascii(path)] = "its name is not UTF-8"
        except OSError as error:
            unreadable[path] = f"it cannot be read ({error.strerror})"
    return found, unreadable


def _read(file: Path, base: Path) -> Source:
    content = file.read_bytes()
    relative = file.relative_to(base).as_posix()
    return Source(relative, file, hashlib.sha256(content).hexdigest(), len(content))
