"""Job processes: started so that they outlive the server, found again by whoever comes after it, and ended in steps.

A process has a session of its own and no pipe to the server. Its note (``process.json``), which it writes itself, names it beyond doubt: a
number of a process is used again, a number with the time of its start is not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windrow.server.job_folders import JobFolder, read_note
from windrow.server.job_process import TAKEN
from windrow.server.registry import now_millis
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
    """How a process ended. ``code`` is None where nobody can tell; it was killed, then, or the machine went down.

    ``was_told``: by a signal that asks for the end.
    """

    code: int | None
    message: str
    was_told: bool = False


@dataclass(frozen=True)
class Start:
    """What is started: a version of a job in its folder, with arguments for ``windrow run`` and variables for its text."""

    folder: JobFolder
    version: int
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Launched:
    process: JobProcess
    child: subprocess.Popen[bytes]


class Processes:
    """Starts processes, and waits for those that it started, so that none stays behind as a zombie."""

    def __init__(self, extra: Sequence[str] = (), submit: Sequence[str] = ()) -> None:
        """``extra`` are arguments that every job gets; ``submit`` is a command that runs a Python program, if not our own."""
        self._extra = list(extra)
        self._submit = list(submit)
        self._launched: dict[Path, _Launched] = {}

    def start(self, asked: Start) -> JobProcess:
        folder, run = asked.folder, uuid.uuid4().hex[:12]
        log = folder.log(run)
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab") as output:
            child = subprocess.Popen(
                [*self._program(), str(folder.path), run, str(asked.version), *self._words(asked)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=folder.path,
                env=self._environment(asked),
            )
        made = JobProcess(run, asked.version, Host.of(child.pid), now_millis())
        self._launched[folder.path] = _Launched(made, child)
        folder.tidy_logs()
        return made

    def _program(self) -> list[str]:
        if self._submit:
            return [*self._submit, str(Path(__file__).with_name("job_main.py"))]
        return [sys.executable, "-m", "windrow.server.job_main"]

    def _words(self, asked: Start) -> list[str]:
        """The module to run and its arguments."""
        folder = asked.folder
        place = ["--state", str(folder.state), "--quiet", "--listen", f"unix:{folder.socket}"]
        return ["windrow", "run", str(folder.sql(asked.version)), *place, *asked.arguments, *self._extra]

    def _environment(self, asked: Start) -> dict[str, str]:
        from windrow.settings import environment

        return {**environment(), **asked.variables}

    def current(self, folder: JobFolder) -> JobProcess | None:
        """The process of a job that was started last, whoever started it and whether it runs or not."""
        noted = known_process(folder)
        launched = self._launched.get(folder.path)
        if launched is None or (noted is not None and noted.run == launched.process.run):
            return noted
        if launched.child.poll() == TAKEN:
            # Another process is the job; it may not have noted itself yet.
            del self._launched[folder.path]
            return known_process(folder)
        return launched.process

    def ending(self, folder: JobFolder, process: JobProcess) -> Ending:
        """Of one that is not alive any more. One that ended before it noted anything is known by its exit code, if it was started here."""
        note = read_note(folder.exit)
        code = note.get("code") if note.get("run") == process.run else None
        launched = self._launched.get(folder.path)
        if code is None and launched is not None and launched.process.run == process.run:
            told = launched.child.poll()
            code = told if told is not None and told > 0 else None
        return Ending(code if isinstance(code, int) else None, _reason(folder.log(process.run)), bool(note.get("was_told")))

    def reap(self) -> None:
        for launched in self._launched.values():
            launched.child.poll()

    def forget(self, folder: JobFolder) -> None:
        self._launched.pop(folder.path, None)


def known_process(folder: JobFolder) -> JobProcess | None:
    """The one that noted itself last."""
    note = read_note(folder.process)
    try:
        return JobProcess(note["run"], int(note["version"]), Host.from_json(note["host"]), int(note["started_at"]))
    except (KeyError, TypeError, ValueError):
        return None


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
