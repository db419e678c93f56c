"""Ctrl-C, SIGTERM and a closed terminal as a wish: the first lets the batch finish, the second ends the program at once."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType, TracebackType
from typing import Any

# A closed terminal is told by SIGHUP, which Windows does not have.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# Some senders signal a process and its group, so that one wish comes twice.
_ONE_WISH = 1.0
_SHOW_CURSOR = b"\x1b[?25h"
# What a shell adds to the number of the signal that ended a program.
_BY_SIGNAL = 128


class StopWish:
    """While it is entered, signals set ``asked``. Enter it after Spark has started, because Spark takes SIGINT for itself."""

    def __init__(self) -> None:
        self.asked = False
        self._number = int(signal.SIGINT)
        self._asked_at = 0.0
        self._before: dict[int, Any] = {}
        self._terminals: list[int] = []

    def __enter__(self) -> StopWish:
        # A terminal that is closed can no longer be asked whether it is one.
        self._terminals = [number for number in (0, 1, 2) if _is_terminal(number)]
        for number in _SIGNALS:
            # nohup and its kin ignore SIGHUP for their programs, which then go on without a terminal.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def exit_code(self) -> int:
        """Of a run whose batch under way could not be finished: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
        return _BY_SIGNAL + self._number

    @property
    def is_for_all(self) -> bool:
        """Ctrl-C may mean one query of a shell; the others mean the program."""
        return self.asked and self._number != signal.SIGINT

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a signal handler
        if number == getattr(signal, "SIGHUP", None):
            self._leave_terminal()
        if not self.asked:
            self.asked = True
            self._number = number
            self._asked_at = time.monotonic()
            return
        if time.monotonic() - self._asked_at < _ONE_WISH:
            return
        # Not by an exception: it would wait for the very batch that the user does not want to wait for. A batch is durable whole
        # or not at all, so nothing is lost.
        if sys.stderr.isatty():
            os.write(2, _SHOW_CURSOR)
        os.write(2, b"\nstopped at once; the batch under way will run again with the same command\n")
        os._exit(_BY_SIGNAL + number)

    def _leave_terminal(self) -> None:
        """Whatever is still written to a terminal that is gone would fail, and the batch under way with it."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in self._terminals:
            os.dup2(nowhere, number)
        os.close(nowhere)


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False
