"""A sink that is called from a thread of its own, so that nobody has to wait for a call for longer than they want."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from windrow.connectors.runtime import Output, Refused, Sink
from windrow.errors import OutageError, UnavailableError
from windrow.resilience import StoppedWaitingError

# How long a job that ends waits for a call that is under way.
_CLOSING_SECONDS = 5.0

Result = Sequence[Refused] | None


class SlowError(UnavailableError):
    """A write was not done in time. It goes on in its thread, and may still succeed."""


@dataclass
class _Call:
    action: Callable[[], Result]
    batch_id: int | None = None
    done: threading.Event = field(default_factory=threading.Event)
    result: Result = None
    error: BaseException | None = None


def is_away(error: BaseException) -> bool:
    """Whether a failure says that the system is away: what connectors say, and what Python says where they say nothing."""
    if isinstance(error, StoppedWaitingError):
        return False
    return isinstance(error, OutageError | UnavailableError | ConnectionError | TimeoutError)


class SinkThread:
    """``written`` is the last batch that was: asked to write it again, it gives what it gave.

    Opens the sink before it is first written to, and again until that succeeds.
    """

    def __init__(self, name: str, sink: Sink) -> None:
        self.name = name
        self.written: int | None = None
        self._gave: Result = None
        self._sink = sink
        self._calls: queue.Queue[_Call | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._is_open = False
        self._under_way: float | None = None

    def open(self, seconds: float | None) -> None:
        self._call(_Call(lambda: None), seconds)

    def write(self, output: Output, seconds: float | None) -> Sequence[Refused]:
        """Raises ``SlowError`` where the write takes longer, and whatever else the sink does."""
        return self._call(_Call(lambda: self._sink.write(output), output.batch_id), seconds)

    @property
    def busy_seconds(self) -> float:
        """How long the call under way has taken by now; 0 where none is."""
        began = self._under_way
        return 0.0 if began is None else time.monotonic() - began

    @property
    def is_busy(self) -> bool:
        return self._under_way is not None or not self._calls.empty()

    def close(self) -> None:
        """A call that does not come back is left to the end of the process."""
        if self._thread is None:
            return
        self._calls.put(None)
        self._thread.join(_CLOSING_SECONDS)

    def _call(self, call: _Call, seconds: float | None) -> Sequence[Refused]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"windrow-output-{self.name}", daemon=True)
            self._thread.start()
        self._calls.put(call)
        if not call.done.wait(seconds):
            raise SlowError("WR829", f"the output {self.name} did not take its rows within {seconds:g} s")
        if call.error is not None:
            raise call.error
        return call.result or ()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            self._under_way = time.monotonic()
            try:
                if not self._is_open:
                    self._sink.open()
                    self._is_open = True
                # A write that nobody waited for any more may have succeeded since it was asked for again.
                if call.batch_id is None or call.batch_id != self.written:
                    self._gave = call.action()
                    self.written = self.written if call.batch_id is None else call.batch_id
                call.result = self._gave
            except BaseException as error:
                call.error = error
            finally:
                self._under_way = None
                call.done.set()
        if self._is_open:
            self._sink.close()
