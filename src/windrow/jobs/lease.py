"""One driver at a time: whoever runs a job holds the lease of its state folder, and says who it is.

On a local disk the operating system holds the lock and lets go of it when the holder dies, however it dies. Elsewhere the holder
writes a heartbeat, and counts as dead when it has not done so for a while.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import IO

from windrow.errors import UsageError
from windrow.spark.folders import Folder, LocalFolder

NAME = "lease.json"
BEAT_SECONDS = 5.0
DEAD_AFTER_SECONDS = 30.0


class Lease:
    def __init__(self, folder: Folder, job: str) -> None:
        self._folder = folder
        self._job = job
        self._file: IO[str] | None = None
        self._released = threading.Event()
        if isinstance(folder, LocalFolder):
            self._lock(Path(folder.path) / NAME)
        else:
            self._claim_by_heartbeat()

    def _lock(self, path: Path) -> None:
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read()
            file.close()
            raise self._refusal(holder) from error
        file.seek(0)
        file.truncate()
        file.write(_holder())
        file.flush()
        self._file = file

    def _claim_by_heartbeat(self) -> None:
        """Not atomic on every object store: two starts within the same second may both succeed, one of them briefly."""
        if NAME in self._folder.names():
            text = self._folder.read(NAME).decode()
            if time.time() - float(json.loads(text)["beat"]) < DEAD_AFTER_SECONDS:
                raise self._refusal(text)
        self._folder.write(NAME, _holder().encode())
        threading.Thread(target=self._beat, name=f"windrow-lease-{self._job}", daemon=True).start()

    def _beat(self) -> None:
        while not self._released.wait(BEAT_SECONDS):
            self._folder.write(NAME, _holder().encode())

    def _refusal(self, holder: str) -> UsageError:
        try:
            known = json.loads(holder)
            who = f"process {known['pid']} on {known['host']}, since {known['since']}"
        except (ValueError, KeyError):
            who = "another process"
        return UsageError(
            "WR805",
            f"job {self._job} is running already: {who} holds its state in {self._folder.path}",
            "stop that one first, or run with another --state folder",
        )

    def release(self) -> None:
        self._released.set()
        if self._file is not None:
            self._file.close()
            self._file = None
        elif NAME in self._folder.names():
            self._folder.remove(NAME)


_SINCE = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _holder() -> str:
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": _SINCE, "beat": time.time()})
