"""MiniStack that also writes its state while it runs. Run by the emulator's own Python, which has no `local`.

MiniStack 1.5 writes its state when it is told to stop, and offers no other moment: whatever ends it unasked
loses every lease, queue and replay log. This one writes every minute too, and at once on SIGUSR1.
"""

import logging
import signal
import threading
from collections.abc import Callable, Mapping

from ministack import app
from ministack.core.persistence import save_all

INTERVAL_S = 60.0
LARGE = frozenset(("lambda",))
"""The functions' code, a hundred megabytes: it changes with a deployment only, which sends the signal."""


_writing = threading.Lock()


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
    app.save_all = save_alone  # it writes when it stops too, into the same files
    logging.getLogger("persistence").setLevel(logging.WARNING)  # or a line for each service each minute
    signal.signal(signal.SIGUSR1, lambda *_: asked.set())
    threading.Thread(target=keep_saving, args=(asked,), daemon=True).start()
    app.main()


if __name__ == "__main__":
    main()
