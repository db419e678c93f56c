"""Ctrl-C and SIGTERM as a wish: the first lets the batch finish, the second ends the program at once."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType, TracebackType
from typing import Any

from windrow.cli.app import INTERRUPTED

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Some senders signal a process and its group, so that one wish comes twice.
_ONE_WISH = 1.0
_SHOW_CURSOR = b"\x1b[?25h"


class StopWish:
    """While it is entered, signals set ``asked``. Enter it after Spark has started, because Spark takes SIGINT for itself."""

    def __init__(self) -> None:
        self.asked = False
        self._asked_at = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopWish:
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a signal handler
        if not self.asked:
            self.asked = True
            self._asked_at = time.monotonic()
            return
        if time.monotonic() - self._asked_at < _ONE_WISH:
            return
        # Not by an exception: it would wait for the very batch that the user does not want to wait for. A batch is durable whole
        # or not at all, so nothing is lost.
        if sys.stderr.isatty():
            os.write(2, _SHOW_CURSOR)
        os.write(2, b"\nstopped at once; the batch under way will run again with the same command\n")
        os._exit(INTERRUPTED)
