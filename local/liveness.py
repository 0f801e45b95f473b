"""Whether a process that a file names still lives."""

import os
from pathlib import Path

SUPERVISOR = "local.supervisor"


def is_ours(pid: int, word: str) -> bool:
    """Say whether a process lives and has `word` in its command line (a reused id does not count)."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    command = Path(f"/proc/{pid}/cmdline")
    return not command.exists() or word.encode() in command.read_bytes()


def find_reporter(status: object) -> int | None:
    """Return the process id of the supervisor that wrote a status; None if it is not alive."""
    if not isinstance(status, dict):
        return None
    pid = int(status["pid"])
    return pid if is_ours(pid, SUPERVISOR) else None
