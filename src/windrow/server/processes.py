"""Job processes: started so that they outlive the server, found again by whoever comes after it, and ended in steps.

A process has a session of its own and no pipe to the server. Its note (``process.json``) names it beyond doubt: a number of a process is
used again, a number with the time of its start is not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windrow.server.job_folders import JobFolder, read_note, write_note
from windrow.storage.host import Host

_TAIL = 64_000


@dataclass(frozen=True)
class JobProcess:
    run: str
    version: int
    host: Host
    started_at: int

    @property
    def is_alive(self) -> bool:
        here = Host.here()
        return here.knows_alive(self.host) if here.boot else not here.knows_dead(self.host)


@dataclass(frozen=True)
class Ending:
    """How a process ended. ``code`` is None where nobody can tell; it was killed, then, or the machine went down."""

    code: int | None
    message: str


class Processes:
    """Starts processes, and waits for those that it started, so that none stays behind as a zombie."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        """``extra`` are arguments that every job gets."""
        self._extra = list(extra)
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, folder: JobFolder, version: int, now: int) -> JobProcess:
        run = uuid.uuid4().hex[:12]
        log = folder.log(run)
        log.parent.mkdir(parents=True, exist_ok=True)
        for stale in (folder.exit, folder.socket):
            stale.unlink(missing_ok=True)
        words = [
            "run",
            str(folder.sql(version)),
            "--state",
            str(folder.state),
            "--quiet",
            "--listen",
            f"unix:{folder.socket}",
            *self._extra,
        ]
        with open(log, "ab") as output:
            child = subprocess.Popen(
                [sys.executable, "-m", "windrow.server.job_main", str(folder.exit), *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=folder.path,
            )
        self._children[child.pid] = child
        made = JobProcess(run, version, Host.of(child.pid), now)
        write_note(folder.process, {"run": run, "version": version, "started_at": now, "host": made.host.to_json()})
        folder.tidy_logs()
        return made

    def reap(self) -> None:
        for pid, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[pid]


def known_process(folder: JobFolder) -> JobProcess | None:
    """The one that was started last, whoever started it and whether it runs or not."""
    note = read_note(folder.process)
    try:
        return JobProcess(note["run"], int(note["version"]), Host.from_json(note["host"]), int(note["started_at"]))
    except (KeyError, TypeError, ValueError):
        return None


def ending_of(folder: JobFolder, process: JobProcess) -> Ending:
    note = read_note(folder.exit)
    code = note.get("code") if note.get("pid") == process.host.pid else None
    return Ending(code if isinstance(code, int) else None, _reason(folder.log(process.run)))


def signal_process(process: JobProcess, number: signal.Signals) -> None:
    if process.is_alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.host.pid, number)


def log_lines(path: Path, most: int) -> list[str]:
    """The last ones."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - max(_TAIL, most * 400)))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.splitlines()[-most:]


def _reason(log: Path) -> str:
    """What the process said of its end: the last error, with its hint."""
    lines = log_lines(log, 200)
    starts = [number for number, line in enumerate(lines) if line.startswith("[WR")]
    if not starts:
        return ""
    first = starts[-1]
    more = [line for line in lines[first + 1 : first + 6] if line.startswith("  ")]
    return "\n".join([lines[first], *more])
