"""This process on this machine, as another process can recognise it later, and a clock that runs on through sleep."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Host:
    """``boot`` is one start of one kernel: those who share it share a clock. ``started`` tells a process from a later one of its number.

    Where the system does not tell (no Linux), ``boot`` and what follows it are empty, and nothing is concluded from them.
    """

    name: str
    pid: int
    boot: str = ""
    pid_namespace: str = ""
    started: str = ""

    @staticmethod
    def here() -> Host:
        return Host.of(os.getpid())

    @staticmethod
    def of(pid: int) -> Host:
        """A process of this machine."""
        return Host(socket.gethostname(), pid, _text("/proc/sys/kernel/random/boot_id"), _namespace(), _started(pid))

    def clock(self) -> float:
        """Seconds on this machine, time asleep included. No relation to any other machine's, and none to the time of day."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Host:
        return Host(data["name"], data["pid"], data["boot"], data["pid_namespace"], data["started"])

    def shares_clock_with(self, other: Host) -> bool:
        return bool(self.boot) and self.boot == other.boot

    def knows_alive(self, other: Host) -> bool:
        """Whether that process runs here and now, for certain. Of one that was gone before it was looked at nothing is known."""
        return bool(other.started) and self._sees(other) and _started(other.pid) == other.started

    def knows_dead(self, other: Host) -> bool:
        """Whether that process is gone, for certain. One on another machine or in another container may be alive."""
        if self.boot or other.boot:
            return self._sees(other) and _started(other.pid) != other.started
        return self.name == other.name and not _exists(other.pid)

    def _sees(self, other: Host) -> bool:
        return self.shares_clock_with(other) and bool(self.pid_namespace) and self.pid_namespace == other.pid_namespace


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process started, in ticks since the boot; empty for one that is gone or only waits to be buried."""
    # The name in parentheses may hold anything, also blanks and parentheses.
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in ("Z", "X") else ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
