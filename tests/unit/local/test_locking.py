import subprocess
import sys
import threading
from pathlib import Path

from local.locking import hold

HOLD = """
import sys
from pathlib import Path
from local.locking import hold
with hold(Path(sys.argv[1]), print):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    said: list[str] = []
    told = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        told.set()

    def wait() -> None:
        with hold(path, say):
            said.append("mine")

    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        second = threading.Thread(target=wait)
        second.start()
        assert told.wait(10)
        waiting = list(said)
        first.communicate("")
        second.join(10)

    assert waiting == [f"waiting: process {first.pid} is starting or stopping this stack"]
    assert said[1:] == ["mine"]


def test_a_lock_whose_folder_was_removed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lock"
    with hold(path, print):
        path.unlink()
        path.parent.rmdir()

    with hold(path, print):
        assert path.exists()


def test_a_free_lock_is_taken_without_a_word(tmp_path: Path) -> None:
    said: list[str] = []

    for _ in range(2):
        with hold(tmp_path / "lock", said.append):
            pass

    assert said == []
