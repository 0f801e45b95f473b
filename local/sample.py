"""The sample documents of `make demo`: fetched from the npm registry, pinned by hash, not shipped with us."""

import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

from local.errors import PartFailed
from local.places import Places
from local.progress import Progress

PACKAGE = "fastify"
VERSION = "5.12.8"
SHA256 = "459048aabd9311309f4f95b36e8ca065e3a4613ded292bcf50442926931e4748"
LICENCE = "MIT"
FOLDER = "package/docs/Reference/"
QUESTION = "Which logger does Fastify use?"
CORPUS = "fastify-docs"
RETRY = "check the npm registry's reachability (npm ping), or index a folder of your own: equerry index PATH"


def fetch_sample(places: Places, progress: Progress) -> Path:
    """Return the folder with Fastify's reference manual, fetched on first use.

    Raises:
        PartFailed: the package cannot be fetched, or is not the one that was pinned.
    """
    target = places.state / "sample" / f"{PACKAGE}-{VERSION}"
    if target.exists():
        return target / "docs" / "Reference"
    with (
        progress.step(
            f"fetching the sample: the reference manual of {PACKAGE} {VERSION} ({LICENCE} licence, npm)"
        ),
        tempfile.TemporaryDirectory() as scratch,
    ):
        archive = _pack(Path(scratch))
        if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
            raise PartFailed(f"{archive.name} is not the package that was pinned", RETRY)
        draft = target.with_name(f"{target.name}.draft")
        _unpack(archive, draft)
        draft.rename(target)
    return target / "docs" / "Reference"


def _pack(folder: Path) -> Path:
    done = subprocess.run(
        ["npm", "pack", f"{PACKAGE}@{VERSION}", "--silent", "--pack-destination", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    archives = list(folder.glob("*.tgz"))
    if done.returncode != 0 or not archives:
        raise PartFailed(f"npm cannot fetch {PACKAGE} {VERSION}: {done.stderr.strip()}", RETRY)
    return archives[0]


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            wanted = member.name.startswith(FOLDER) or member.name == "package/LICENSE"
            if not member.isfile() or not wanted or ".." in member.name:
                continue
            path = target / member.name.removeprefix("package/")
            path.parent.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(member)
            path.write_bytes(content.read() if content else b"")
