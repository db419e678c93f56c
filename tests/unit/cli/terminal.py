"""A program on a terminal of its own: type, and wait for what it shows."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_=>])")


class Terminal:
    """``windrow`` with its standard streams on a pseudo-terminal."""

    def __init__(self, *words: str, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self._mine, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 150))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "windrow", *words],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, close_fds=True, start_new_session=True,
            env={**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(folder / "home"), **(env or {})},
        )  # fmt: skip
        os.close(theirs)
        self._shown = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._mine)

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C while a command runs: it goes to the process, as a terminal's own would."""
        self._process.send_signal(2)

    def wait_for(self, text: str, seconds: float = 30.0) -> str:
        """Everything shown up to the first time that ``text`` is, which is then behind us."""
        deadline = time.monotonic() + seconds
        while text not in self._shown:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} was not shown, but:\n{self._shown}"
            if select.select([self._mine], [], [], min(left, 0.2))[0]:
                self._take()
        before, _, self._shown = self._shown.partition(text)
        return before + text

    def _take(self) -> None:
        try:
            data = os.read(self._mine, 65_536)
        except OSError:
            data = b""
        assert data or self._process.poll() is None, f"it ended, having shown:\n{self._shown}"
        # The prompt asks the terminal where its cursor is, and waits for the answer.
        if b"\x1b[6n" in data:
            os.write(self._mine, b"\x1b[1;1R")
        self._shown += _ESCAPES.sub("", data.decode(errors="replace")).replace("\r", "")

    def ended(self, seconds: float = 30.0) -> int:
        return self._process.wait(seconds)
