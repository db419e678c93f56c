"""The process of a job: ``windrow`` with the arguments that follow, a note of who it is, and one of how it ended.

It notes itself, under a lock that the kernel gives back when it ends, however that is: of two that are started only one is the job, and
a server that dies right after a start leaves no job that nobody knows.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import runpy
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from windrow.server.job_folders import JobFolder, write_note
from windrow.storage.host import Host

# Another process is the job already (as sendmail says it: try again later).
TAKEN = 75
_TO_END = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


def run(arguments: Sequence[str]) -> None:
    """``arguments`` are the folder of the job, the name of the run, the version, and a module with its arguments."""
    folder, name, version, module, *rest = arguments
    path = Path(folder)
    place = JobFolder(path.parent, path.name)
    # Kept open until the process ends. It is not handed on to processes that this one starts.
    lock = os.open(place.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(TAKEN)
    for stale in (place.exit, place.socket):
        stale.unlink(missing_ok=True)
    host = Host.here()
    note = {"run": name, "version": int(version), "started_at": time.time_ns() // 1_000_000, "host": host.to_json()}
    write_note(place.process, note)
    # Until the program has a handler of its own: nothing has begun that would have to be ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _run(module, rest, place, name, _signals_seen())


def _signals_seen() -> socket.socket:
    """Gets the number of every signal, whoever handles it: an end that somebody asked for is not the end of the input."""
    seen, written = socket.socketpair()
    seen.setblocking(False)
    written.setblocking(False)
    signal.set_wakeup_fd(written.detach(), warn_on_full_buffer=False)
    return seen


def _was_told(seen: socket.socket) -> bool:
    with contextlib.suppress(BlockingIOError):
        return any(number in _TO_END for number in seen.recv(4096))
    return False


def _run(module: str, arguments: list[str], place: JobFolder, run: str, seen: socket.socket) -> None:
    sys.argv = [module, *arguments]
    code = 1
    try:
        runpy.run_module(module, run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        raise
    finally:
        write_note(place.exit, {"run": run, "code": code, "was_told": _was_told(seen)})
