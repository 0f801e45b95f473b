"""Containers of the worker function as processes that a test can kill.

Each event on the input is handled in a process of its own, forked when all is imported; the output tells its
id, and that it is over.
"""

import json
import os
import sys

from equerry.runtime.worker import build_worker_app


def main() -> None:
    """Serve events, one a line."""
    worker = build_worker_app()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            worker(json.loads(line), None)
            os._exit(0)
        out.write(f"{child}\n")
        os.waitpid(child, 0)
        out.write("over\n")


if __name__ == "__main__":
    main()
