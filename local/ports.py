"""Ports: a free one, and who holds one that is taken."""

import contextlib
import os
import socket
from pathlib import Path

from local.errors import PortTaken

LISTENING = "0A"


def find_free_port() -> int:
    """Return a loopback port nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_listening(port: int) -> bool:
    """Say whether something accepts connections on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def require_free(port: int, *, what: str, variable: str) -> None:
    """Check that `what` may listen on `port`.

    Raises:
        PortTaken: something else does; the message names it where the system tells.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            holder = find_holder(port)
            by = f" by {holder}" if holder else " by another program"
            raise PortTaken(
                f"port {port}, where {what} should listen, is taken{by}",
                f"stop that program, or choose another port: {variable}={port + 1000} make up",
            ) from None


def find_holder(port: int) -> str | None:
    """Name the program that listens on a TCP port; None where the system does not tell."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(_link(entry) in inodes for entry in (process / "fd").iterdir()):
                words = (process / "cmdline").read_bytes().split(b"\0")
                return f"{Path(words[0].decode()).name} (process {process.name})"
    return None


def _listening_inodes(port: int) -> list[str]:
    found = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        with contextlib.suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    found.append(fields[9])
    return found


def _link(entry: Path) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(entry)  # noqa: PTH115  # Path.readlink resolves "socket:[1]" just as well, slower
    return ""
