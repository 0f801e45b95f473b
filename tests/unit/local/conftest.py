import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def supervisor() -> Iterator[int]:
    """A process that looks like a supervisor."""
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", "local.supervisor"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()
