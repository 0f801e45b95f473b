"""MiniStack that saves while it runs and unpacks a layer once. Run by its own Python, which has no `local`.

MiniStack 1.5 writes its state when it is told to stop, and offers no other moment: whatever ends it unasked
loses every lease, queue and replay log. This one writes every minute too, and at once on SIGUSR1.

It also unpacks every layer anew for every version of every function, ten thousand files each, in the process
that serves all else: after a deployment the first call waited for all of them.
"""

import hashlib
import logging
import shutil
import signal
import tempfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ministack import app
from ministack.core import lambda_runtime
from ministack.core.persistence import save_all

INTERVAL_S = 60.0
LARGE = frozenset(("lambda",))
"""The functions' code, a hundred megabytes: it changes with a deployment only, which sends the signal."""


LARGE_ARCHIVE = 1_000_000
"""Bytes from which an archive is a layer worth sharing."""
UNPACKED = Path(tempfile.gettempdir()) / "unpacked"

_writing = threading.Lock()
_unpacking = threading.Lock()


class SharedArchive(zipfile.ZipFile):
    """A zip file that is unpacked once, by its content; everybody else gets links to what is there."""

    def extractall(self, path: Any = None, members: Any = None, pwd: Any = None) -> None:
        """Put the archive's content into `path`, which exists."""
        if self.filename is None or Path(self.filename).stat().st_size < LARGE_ARCHIVE:
            super().extractall(path, members, pwd)
            return
        with _unpacking:
            shared = self._unpack(Path(self.filename))
        for entry in shared.iterdir():
            (Path(path) / entry.name).symlink_to(entry)

    def _unpack(self, file: Path) -> Path:
        with file.open("rb") as content:
            shared = UNPACKED / hashlib.file_digest(content, "sha256").hexdigest()
        if not shared.is_dir():
            unpacking = shared.with_suffix(".part")
            shutil.rmtree(unpacking, ignore_errors=True)
            super().extractall(unpacking)
            unpacking.rename(shared)
        return shared


def save_alone(services: Mapping[str, Callable[[], object]]) -> None:
    """Write these services' state, one writer at a time; a file that cannot be written stays as it was."""
    with _writing:
        save_all(services)


def save(*, everything: bool) -> None:
    """Write the state of every service, or of all but the large ones."""
    services = app._build_persistence_save_dict()  # noqa: SLF001  # what MiniStack itself saves when it stops
    save_alone({name: state for name, state in services.items() if everything or name not in LARGE})


def keep_saving(asked: threading.Event) -> None:
    """Save for ever: all of it when asked, all but the code otherwise."""
    while True:
        everything = asked.wait(INTERVAL_S)
        asked.clear()
        save(everything=everything)


def main() -> None:
    """Run MiniStack as its own command would."""
    asked = threading.Event()
    shutil.rmtree(UNPACKED, ignore_errors=True)  # layers of earlier deployments among them
    lambda_runtime.zipfile = SimpleNamespace(**vars(zipfile) | {"ZipFile": SharedArchive})
    app.save_all = save_alone  # it writes when it stops too, into the same files
    logging.getLogger("persistence").setLevel(logging.WARNING)  # or a line for each service each minute
    signal.signal(signal.SIGUSR1, lambda *_: asked.set())
    threading.Thread(target=keep_saving, args=(asked,), daemon=True).start()
    app.main()


if __name__ == "__main__":
    main()
