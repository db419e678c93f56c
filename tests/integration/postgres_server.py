"""A PostgreSQL server of our own: in a folder, on the loopback address, gone when the tests are."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

_WAIT = 30.0


def find_programs() -> Path | None:
    """The folder of initdb and pg_ctl: Debian does not put it on PATH."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class PostgresServer:
    """``kill`` is SIGKILL: what was committed is still there after ``start``, on the same port."""

    user, password, database = "windrow", "wind row", "windrow"

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._data = folder / "data"
        self._folder = folder
        self.port = _free_port()
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            shutil.chown(folder, "postgres", "postgres")
        secret = folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        self._run(
            "initdb", "-D", str(self._data), "-U", self.user, "-A", "scram-sha-256", "--pwfile", str(secret), "--no-sync", "-E", "UTF8"
        )
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.write(f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 50\n")

    @property
    def dsn(self) -> str:
        return self._dsn(self.database)

    def _dsn(self, database: str) -> str:
        return f"postgresql://{self.user}:{quote(self.password)}@127.0.0.1:{self.port}/{database}"

    def create(self) -> None:
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
        while _answers(self.port) and time.monotonic() < deadline:
            time.sleep(0.01)
        while any(_is_alive(one) for one in (pid, *map(int, children))) and time.monotonic() < deadline:
            time.sleep(0.01)
        # A process that nobody has asked after yet still counts as one for pg_ctl.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def connect(self, **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.dsn, **{"autocommit": True, **options})

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(query).fetchall()

    def execute(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def _run(self, program: str, *arguments: str) -> None:
        command: Sequence[str] = [str(self._programs / program), *arguments]
        user = "postgres" if os.geteuid() == 0 else None
        # In a session of its own, or Ctrl-C for the tests would end the server as well.
        done = subprocess.run(
            command, user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, start_new_session=True
        )
        if done.returncode != 0:
            log = self._folder / "log"
            raise RuntimeError(f"{program} failed: {done.stderr}\n{log.read_text() if log.exists() else ''}")


def has_user() -> bool:
    """Whether there is someone who may run the server."""
    if os.geteuid() != 0:
        return True
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"
