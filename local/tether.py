"""Children that do not outlive us, however we die."""

import shutil


def tether(signal_name: str = "TERM") -> list[str]:
    """Return the command prefix that makes the kernel signal a child when its parent dies.

    Empty where there is no setpriv (outside Linux): there a killed supervisor leaves its parts, and the next
    `make up` or `make down` ends them by the process ids it wrote.
    """
    return ["setpriv", "--pdeathsig", signal_name] if shutil.which("setpriv") else []
