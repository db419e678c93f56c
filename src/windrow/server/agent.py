"""Asking a job how it is, and to pause: HTTP over the socket in its folder."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any


class _OverSocket(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(path: Path, target: str, method: str = "GET", timeout: float = 2.0) -> dict[str, Any] | None:
    """None where the job does not answer, for whatever reason: it starts, ends, or is busy with something else."""
    try:
        found = json.loads(_answer(path, target, method, timeout))
        return found if isinstance(found, dict) else {"items": found}
    except (OSError, ValueError, http.client.HTTPException):
        return None


def ask_text(path: Path, target: str, timeout: float = 2.0) -> str | None:
    """The same of what is no JSON."""
    try:
        return _answer(path, target, "GET", timeout).decode()
    except (OSError, ValueError, http.client.HTTPException):
        return None


def _answer(path: Path, target: str, method: str, timeout: float) -> bytes:
    connection = _OverSocket(path, timeout)
    try:
        connection.request(method, target)
        return connection.getresponse().read()
    finally:
        connection.close()
