"""One at a time: whoever starts or stops a stack holds its lock, and the kernel frees it with its holder."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def hold(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of this path; `say` hears who holds it if we have to wait."""
    with _acquire(path, say) as lock:
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _acquire(path: Path, say: Callable[[str], None]) -> TextIO:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting: process {path.read_text().strip()} is starting or stopping this stack")
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_still(path, lock):
            return lock
        lock.close()  # its holder removed the folder


def _is_still(path: Path, lock: TextIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(lock.fileno()))
    except FileNotFoundError:
        return False
