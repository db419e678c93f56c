"""A PostgreSQL server of our own: in a folder, on the loopback address, from programs that are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import psycopg

from windrow.errors import UsageError
from windrow.local.kafka import HOST, free_port, is_free

NOT_INSTALLED, DID_NOT_START = "WR897", "WR898"
_WAIT = 30.0
# PostgreSQL refuses to run as root, and packages make this user for it.
_SERVANT = "postgres"


def needed_programs() -> Path:
    """The folder of initdb and pg_ctl."""
    programs = find_programs()
    if programs is None or not _has_servant():
        missing = (
            "no PostgreSQL is installed here" if programs is None else f"PostgreSQL cannot run as root, and there is no user {_SERVANT}"
        )
        hint = "install it (apt-get install postgresql, brew install postgresql), or name a database with --postgres-url postgresql://..."
        raise UsageError(NOT_INSTALLED, missing, hint)
    return programs


def find_programs() -> Path | None:
    """Debian does not put them on PATH."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class PostgresServer:
    """``kill`` is SIGKILL: what was committed is still there after ``start``, on the same port."""

    user, password, database = "windrow", "wind row", "windrow"

    def __init__(self, folder: Path) -> None:
        """``folder`` is there already, and whoever runs the server may enter it."""
        self._programs = needed_programs()
        self._data = folder / "data"
        self._folder = folder
        self.port = free_port()
        if os.geteuid() == 0:
            shutil.chown(folder, _SERVANT, _SERVANT)
        secret = folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        self._run(
            "initdb", "-D", str(self._data), "-U", self.user, "-A", "scram-sha-256", "--pwfile", str(secret), "--no-sync", "-E", "UTF8"
        )
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write(f"port = {self.port}\nlisten_addresses = '{HOST}'\nunix_socket_directories = ''\nmax_connections = 50\n")

    @property
    def dsn(self) -> str:
        return self._dsn(self.database)

    def _dsn(self, database: str) -> str:
        return f"postgresql://{self.user}:{quote(self.password)}@{HOST}:{self.port}/{database}"

    def create(self) -> None:
        """Make the database of ``dsn``, once the server runs."""
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self.database}")

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._folder / "log"), "-w", "-t", "30", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", "fast", "-w", "stop")

    def kill(self) -> None:
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        for one in (pid, *map(int, children)):
            os.kill(one, signal.SIGKILL)
        deadline = time.monotonic() + _WAIT
        while not is_free(self.port) and time.monotonic() < deadline:
            time.sleep(0.01)
        while any(_is_alive(one) for one in (pid, *map(int, children))) and time.monotonic() < deadline:
            time.sleep(0.01)
        # A process that nobody has asked after yet still counts as one for pg_ctl.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def connect(self, **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.dsn, **{"autocommit": True, **options})

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return read_rows(self.dsn, query)

    def execute(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def _run(self, program: str, *arguments: str) -> None:
        command: Sequence[str] = [str(self._programs / program), *arguments]
        user = _SERVANT if os.geteuid() == 0 else None
        # In a session of its own, or Ctrl-C for us would end the server as well.
        done = subprocess.run(
            command, user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, start_new_session=True
        )
        if done.returncode != 0:
            log = self._folder / "log"
            said = [*(log.read_text(errors="replace").splitlines() if log.exists() else ()), *done.stderr.splitlines()]
            raise UsageError(DID_NOT_START, f"{program} failed: {' / '.join(said[-5:])}", f"see {log}")


def read_rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True, connect_timeout=10) as connection:
        return connection.execute(query.encode()).fetchall()


def _has_servant() -> bool:
    if os.geteuid() != 0:
        return True
    try:
        pwd.getpwnam(_SERVANT)
    except KeyError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


@contextmanager
def temporary_server(name: str, tell: Callable[[PostgresServer], None] = lambda _server: None) -> Iterator[PostgresServer]:
    """A server with an empty database that is gone afterwards; ``tell`` is called before it starts.

    Its folder is one of the system's own: the server runs as somebody else, who may not enter just any.
    """
    with TemporaryDirectory(prefix=f"windrow-{name}-") as folder:
        server = PostgresServer(Path(folder))
        tell(server)
        server.start()
        try:
            server.create()
            yield server
        finally:
            server.stop()
