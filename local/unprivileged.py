"""How to start a program that refuses to run as root, when we are root."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.errors import MissingTool

PREFERRED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Launch:
    """A command prefix, and the account files must belong to (None: they stay as they are)."""

    prefix: tuple[str, ...] = ()
    account: pwd.struct_passwd | None = None

    def command(self, *words: str | Path, end_with_parent: bool = False) -> list[str]:
        """Wrap a command; with `end_with_parent` the kernel interrupts it when we die (Linux)."""
        tether = ("setpriv", "--pdeathsig", "INT") if end_with_parent and shutil.which("setpriv") else ()
        return [*self.prefix, *tether, *(str(word) for word in words)]


def find_launch(*, uid: int | None = None, works: Callable[[Launch], bool] | None = None) -> Launch:
    """Return how to run as somebody who is not root.

    A user namespace comes first: nothing is created or handed over. Where the kernel refuses one, the
    account `postgres` or `nobody` serves.

    Raises:
        MissingTool: we are root and neither way works.
    """
    if (os.geteuid() if uid is None else uid) != 0:
        return Launch()
    account = _ordinary_account()
    for launch in (_namespace(account), _account(account)):
        if (works or _works)(launch):
            return launch
    raise MissingTool(
        "PostgreSQL refuses to run as root, and neither `unshare --user` nor `setpriv --reuid` works here",
        "run as an ordinary user, or install util-linux (apt-get install util-linux)",
    )


def _ordinary_account() -> pwd.struct_passwd:
    accounts = {entry.pw_name: entry for entry in pwd.getpwall() if entry.pw_uid != 0}
    for name in PREFERRED:
        if name in accounts:
            return accounts[name]
    if accounts:
        return next(iter(accounts.values()))
    raise MissingTool("this machine has no account but root", "create one: useradd --system equerry")


def _namespace(account: pwd.struct_passwd) -> Launch:
    user, group = account.pw_uid, account.pw_gid
    return Launch(("unshare", "--user", f"--map-user={user}", f"--map-group={group}", "--"))


def _account(account: pwd.struct_passwd) -> Launch:
    ids = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")
    return Launch(("setpriv", *ids, "--"), account)


def _works(launch: Launch) -> bool:
    if sys.platform != "linux" or shutil.which(launch.prefix[0]) is None:
        return False
    return subprocess.run(launch.command("true"), capture_output=True, check=False).returncode == 0
