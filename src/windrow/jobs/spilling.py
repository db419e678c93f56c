"""Rows of an output that wait in the state folder while its system is away: in order, each batch once, within a size and an age."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import replace

from windrow.connectors.runtime import Output, Sink
from windrow.errors import JobError, WindrowError
from windrow.jobs.output_writers import BufferedWriter, Place, Written, said
from windrow.jobs.sink_thread import is_away
from windrow.jobs.spill import Waiting
from windrow.observe.status import OutputStatus
from windrow.plan.stages import Write
from windrow.resilience import StoppedWaitingError
from windrow.sql.durations import show_duration

LEFT_OVER, TOO_LARGE, TOO_OLD, REFUSED_LATER, FAILED_LATER = "WR822", "WR823", "WR824", "WR835", "WR836"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 15.0
_LOOK_EVERY = 0.5


class SpillingWriter(BufferedWriter):
    """While nothing waits, a batch is written at once. What waits is delivered by a thread, oldest first, once it is committed."""

    def __init__(self, write: Write, sink: Sink, place: Place) -> None:
        super().__init__(write, sink, place)
        self._changed = threading.Condition()
        self._backlog: deque[Waiting] = deque()
        self._committed = -1
        self._fault: WindrowError | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        self._committed = self.place.committed
        self._backlog.extend(self.place.spill.recover(self._committed))
        super().open()
        if self._backlog:
            self._start_delivery()

    def write(self, output: Output) -> Written:
        assert output.table is not None
        self._check()
        rows = output.table.num_rows
        if not rows:
            return Written()
        if output.batch_id <= self.place.spill.delivered:
            # The batch runs again, and what waited of it has been delivered.
            return Written(spilled=rows)
        self._forget_from(output.batch_id)
        if self.is_up and not self._backlog and not self.sink.is_busy:
            try:
                return Written(self.sink.write(output, self.timeout))
            except Exception as error:
                if not is_away(error):
                    raise
                self.found_away(error)
        self._spill(output)
        return Written(spilled=rows)

    def _spill(self, output: Output) -> None:
        assert output.table is not None
        packed = self.place.spill.pack(output.batch_id, output.columns, output.table, self.place.clock())
        self._make_room(packed.waiting.bytes)
        self.place.spill.put(packed)
        with self._changed:
            self._backlog.append(packed.waiting)
        self._start_delivery()

    def _make_room(self, size: int) -> None:
        """With the folder full, the job waits."""
        if size > self.rule.max_bytes:
            message = f"a batch of {self.name} takes {size:,} bytes, and only {self.rule.max_bytes:,} may wait for the output"
            raise JobError(TOO_LARGE, message, f"allow more: 'spill.max_bytes' = '{2 * size}', or read less in a batch")
        with self._changed:
            while sum(one.bytes for one in self._backlog) + size > self.rule.max_bytes:
                self._check()
                if self.place.stopping.is_set():
                    message = f"the job is stopping while the output {self.name} is away and no more may wait for it"
                    raise StoppedWaitingError("WR821", f"{message}: the batch is left for the next run")
                self._changed.wait(_LOOK_EVERY)

    def committed(self, batch_id: int) -> None:
        with self._changed:
            self._committed = max(self._committed, batch_id)
            self._changed.notify_all()

    def drain(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._backlog and not self.place.stopping.is_set():
                self._check()
                if time.monotonic() >= deadline:
                    raise self._left_over()
                self._changed.wait(_LOOK_EVERY)

    def status(self) -> OutputStatus:
        with self._changed:
            waiting = list(self._backlog)
        return replace(
            super().status(),
            waiting_batches=len(waiting),
            waiting_rows=sum(one.rows for one in waiting),
            waiting_bytes=sum(one.bytes for one in waiting),
            oldest=waiting[0].since if waiting else None,
        )

    def close(self) -> None:
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        super().close()

    def _forget_from(self, batch_id: int) -> None:
        """The batch runs again within this run: it is put there anew."""
        with self._changed:
            while self._backlog and self._backlog[-1].batch_id >= batch_id:
                self._backlog.pop()

    def _start_delivery(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._deliver_all, name=f"windrow-spill-{self.name}", daemon=True)
            self._thread.start()

    def _deliver_all(self) -> None:
        pause = _FIRST_PAUSE
        while (waiting := self._next()) is not None:
            try:
                self._deliver(waiting)
                pause = _FIRST_PAUSE
            except StoppedWaitingError:
                return
            except Exception as error:
                if self._closing.is_set():
                    return
                if not is_away(error):
                    self._fail(error)
                    return
                self.found_away(error)
                if self._is_too_old():
                    self._fail(self._too_old())
                    return
                if self._closing.wait(pause):
                    return
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _next(self) -> Waiting | None:
        """The oldest batch that waits and will not run again; None when the job ends."""
        with self._changed:
            while not self._closing.is_set():
                if self._backlog and self._backlog[0].batch_id <= self._committed:
                    return self._backlog[0]
                self._changed.wait()
        return None

    def _deliver(self, waiting: Waiting) -> None:
        columns, table = self.place.spill.read(waiting.batch_id)
        self.place.check()
        refused = self.sink.write(Output(waiting.batch_id, columns, table), None)
        if refused:
            message = f"the output {self.name} refuses {len(refused)} rows of batch {waiting.batch_id}: {refused[0].why}"
            raise JobError(REFUSED_LATER, f"{message}; the batch was done by then", "mend the target, or leave 'on.unavailable' out")
        self.place.spill.remove(waiting.batch_id)
        with self._changed:
            self._backlog.popleft()
            if not self._backlog:
                self.found_up()
            self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        if isinstance(error, WindrowError):
            fault = error
        else:
            message = f"rows that waited for the output {self.name} could not be delivered: {said(error)}"
            fault = JobError(FAILED_LATER, message, "mend the cause and start the job again: the rows still wait")
        with self._changed:
            self._fault = fault
            self._changed.notify_all()
        self.place.failed(fault)

    def _check(self) -> None:
        if self._fault is not None:
            raise self._fault
        if self._is_too_old() and (not self.is_up or self.sink.busy_seconds > self.timeout):
            raise self._too_old()

    def _is_too_old(self) -> bool:
        oldest = self._backlog[0].since if self._backlog else None
        return oldest is not None and self.place.clock() - oldest > self.rule.max_age / 1e6

    def _too_old(self) -> JobError:
        most = show_duration(self.rule.max_age)
        hint = "when the system is back, start the job again: what waits is delivered first; 'spill.max_age' lets it wait for longer"
        return JobError(TOO_OLD, f"rows have waited for the output {self.name} for longer than {most}, in {self.place.spill.path}", hint)

    def _left_over(self) -> JobError:
        rows = sum(one.rows for one in self._backlog)
        message = f"the job has reached its end, and {rows:,} rows still wait for the output {self.name}, in {self.place.spill.path}"
        return JobError(LEFT_OVER, message, "when the system is back, run the same command again: it delivers them")
