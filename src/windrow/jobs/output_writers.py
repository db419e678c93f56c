"""How the rows of an output reach its sink: at once, or in a way that lets the other outputs go on while its system is away."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from windrow.connectors.runtime import Output, Refused, Sink
from windrow.errors import JobError, WindrowError
from windrow.jobs.sink_thread import SinkThread, SlowError, is_away
from windrow.jobs.spill import SpillFolder
from windrow.model import row_protocol
from windrow.observe.status import AWAY, SLOW, UP, OutputStatus
from windrow.plan.outages import OutageRule
from windrow.plan.stages import Write
from windrow.resilience import StoppedWaitingError

LOG = logging.getLogger("windrow.outputs")

UNAVAILABLE, TOO_SLOW, HALTED = "WR828", "WR829", "WR825"
# How long nobody tries a system that was found away, where a write in vain would hold every batch up.
_LEFT_ALONE = 10.0
_SAMPLE_EVERY = 10.0
_LONGEST_PAUSE = 15.0
# The mark of a row that came to another output, in a header or in a column.
FAILOVER_HEADER, FAILOVER_COLUMN, HEADERS = "windrow-failover-from", "failover_from", row_protocol.HEADERS


@dataclass(frozen=True)
class Place:
    """What a writer needs of its job. ``committed`` is the last batch that is done at the start.

    ``check`` raises where the job has another owner; ``failed`` is told what stops the job.
    """

    spill: SpillFolder
    committed: int
    stopping: threading.Event
    check: Callable[[], None]
    failed: Callable[[WindrowError], None]
    clock: Callable[[], float] = time.time


@dataclass(frozen=True)
class Written:
    """What became of the rows of a batch, where they are not simply written: numbers for the ledger. ``unsent`` is by reason code."""

    refused: Sequence[Refused] = ()
    spilled: int = 0
    failed_over: int = 0
    unsent: Mapping[str, int] = field(default_factory=dict)


class OutputWriter:
    """Each write can be repeated without effect."""

    counts_rows = False

    def open(self) -> None:
        raise NotImplementedError

    def write(self, output: Output) -> Written:
        """The rows of a batch are durable when this returns: in the system, in the state folder, or in the ledger as dropped."""
        raise NotImplementedError

    def committed(self, batch_id: int) -> None:
        """The change file of a batch is durable."""

    def drain(self, seconds: float) -> None:
        """The job has reached its end: wait for what has not been delivered. Raises where it takes longer."""

    def status(self) -> OutputStatus | None:
        return None

    def close(self) -> None:
        raise NotImplementedError


class DirectWriter(OutputWriter):
    """The batch waits for the sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.counts_rows = sink.counts_rows

    def open(self) -> None:
        self._sink.open()

    def write(self, output: Output) -> Written:
        return Written(self._sink.write(output) or ())

    def close(self) -> None:
        self._sink.close()


class HaltingWriter(DirectWriter):
    """The same, for no longer than it may take."""

    def __init__(self, write: Write, sink: Sink, place: Place) -> None:
        super().__init__(sink)
        self._write = write
        self._place = place
        self._seconds = write.outage.halt_after / 1e6

    def write(self, output: Output) -> Written:
        began, pause = time.monotonic(), 0.2
        while True:
            try:
                return super().write(output)
            except Exception as error:
                if not is_away(error):
                    raise
                left = self._seconds - (time.monotonic() - began)
                if left <= 0:
                    raise self._halt(error) from error
            if self._place.stopping.wait(min(pause, left)):
                raise _stopped(self._write.input)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _halt(self, error: Exception) -> JobError:
        away = f"the output {self._write.input} was away for {self._seconds:g} s, and 'on.unavailable' is 'halt': {said(error)}"
        return JobError(HALTED, away, "when the system is back, start the job again: it goes on with this batch")


class BufferedWriter(OutputWriter):
    """Rows are a table in the driver (``Sink.COLLECTED``), and the sink is called from a thread of its own: a write that takes too long
    is left behind.
    """

    def __init__(self, write: Write, sink: Sink, place: Place) -> None:
        self.name = write.input
        self.rule: OutageRule = write.outage
        self._connector = write.connector
        self.sink = SinkThread(write.input, sink)
        self.place = place
        self.timeout = write.outage.write_timeout / 1e6
        self._state = UP
        self._since: float | None = None
        self._error: str | None = None

    def open(self) -> None:
        """Where the system is away, the job starts without it."""
        try:
            self.sink.open(self.timeout)
        except Exception as error:
            if not is_away(error):
                raise
            self.found_away(error)

    @property
    def is_up(self) -> bool:
        return self._state == UP

    def found_up(self) -> None:
        if not self.is_up:
            LOG.warning("the output %s takes rows again", self.name)
        self._state, self._since, self._error = UP, None, None

    def found_away(self, error: BaseException) -> None:
        state = SLOW if isinstance(error, SlowError) else AWAY
        if self.is_up:
            LOG.warning("the output %s is %s; %s: %s", self.name, state, self.rule.describe(), said(error))
            self._since = self.place.clock()
        self._state, self._error = state, said(error)

    def status(self) -> OutputStatus:
        return OutputStatus(self.name, self._connector, self.rule.policy, self._state, self._since, self._error)

    def close(self) -> None:
        self.sink.close()


class _TryingWriter(BufferedWriter):
    """Rows that the system does not take in time are done with in another way, at once."""

    def __init__(self, write: Write, sink: Sink, place: Place) -> None:
        super().__init__(write, sink, place)
        self._left_alone_until = 0.0

    def open(self) -> None:
        super().open()
        if not self.is_up:
            self._left_alone_until = time.monotonic() + _LEFT_ALONE

    def attempt(self, output: Output) -> tuple[Sequence[Refused], str | None]:
        """What the sink refused; or the code of the reason why the rows are not written."""
        if self.sink.is_busy:
            return (), TOO_SLOW
        if time.monotonic() < self._left_alone_until:
            return (), UNAVAILABLE
        try:
            refused = self.sink.write(output, self.timeout)
        except Exception as error:
            if not is_away(error):
                raise
            self.found_away(error)
            if isinstance(error, SlowError):
                return (), TOO_SLOW
            self._left_alone_until = time.monotonic() + _LEFT_ALONE
            return (), UNAVAILABLE
        self.found_up()
        return refused, None


class DroppingWriter(_TryingWriter):
    """Rows that cannot be written are counted, and one of them is logged now and then."""

    def __init__(self, write: Write, sink: Sink, place: Place) -> None:
        super().__init__(write, sink, place)
        self._left_behind: tuple[int, int] | None = None
        self._sampled = -_SAMPLE_EVERY

    def write(self, output: Output) -> Written:
        assert output.table is not None
        back = self._came_through()
        rows = output.table.num_rows
        if not rows:
            return Written(unsent=back)
        was_busy = self.sink.is_busy
        refused, why = self.attempt(output)
        if why is None:
            return Written(refused, unsent=back)
        if why == TOO_SLOW and not was_busy:
            self._left_behind = output.batch_id, rows
        self._sample(output, why)
        return Written(refused, unsent={**back, why: back.get(why, 0) + rows})

    def _came_through(self) -> dict[str, int]:
        """A write that was left behind may have succeeded after all: its rows were not dropped."""
        if self._left_behind is None or self.sink.is_busy:
            return {}
        batch_id, rows = self._left_behind
        self._left_behind = None
        return {TOO_SLOW: -rows} if self.sink.written == batch_id else {}

    def _sample(self, output: Output, why: str) -> None:
        now = time.monotonic()
        if now - self._sampled < _SAMPLE_EVERY:
            return
        self._sampled = now
        assert output.table is not None
        (first,) = output.table.select(list(output.columns)).slice(0, 1).to_pylist(maps_as_pydicts="lossy")
        text = json.dumps(first, default=str, ensure_ascii=False)
        LOG.warning("[%s] %s drops the %d rows of batch %d, such as %s", why, self.name, output.table.num_rows, output.batch_id, text)


class FailoverWriter(_TryingWriter):
    """Rows go to another output meanwhile. Which batches did is noted first, so that a batch that runs again takes the same way."""

    def __init__(self, write: Write, sink: Sink, place: Place, other: Sink, *, has_headers: bool) -> None:
        super().__init__(write, sink, place)
        self._other = other
        self._has_headers = has_headers
        self._elsewhere: set[int] = set()

    def open(self) -> None:
        self._elsewhere = self.place.spill.went_elsewhere()
        self.committed(self.place.committed + 1)
        super().open()
        self._other.open()

    def write(self, output: Output) -> Written:
        assert output.table is not None
        rows = output.table.num_rows
        if not rows:
            return Written()
        if output.batch_id not in self._elsewhere:
            refused, why = self.attempt(output)
            if why is None:
                return Written(refused)
            self.place.spill.note_elsewhere(output.batch_id)
            self._elsewhere.add(output.batch_id)
        refused = self._other.write(marked(output, self.name, has_headers=self._has_headers)) or ()
        return Written(refused, failed_over=rows)

    def committed(self, batch_id: int) -> None:
        """Spark has noted the batches before this one as done: they do not run again."""
        for done in sorted(number for number in self._elsewhere if number < batch_id):
            self.place.spill.forget_elsewhere(done)
            self._elsewhere.discard(done)

    def close(self) -> None:
        super().close()
        self._other.close()


def marked(output: Output, statement: str, *, has_headers: bool) -> Output:
    """Rows that say which output they were meant for: in a header where there are any, else in a column."""
    assert output.table is not None
    table = output.table
    if not has_headers:
        return replace(
            output,
            columns=(*output.columns, FAILOVER_COLUMN),
            table=table.append_column(FAILOVER_COLUMN, pa.repeat(pa.scalar(statement), table.num_rows)),
        )
    had = table[HEADERS] if HEADERS in table.column_names else None
    type_ = pa.map_(pa.string(), pa.string()) if had is None else had.type
    value = statement.encode() if pa.types.is_binary(type_.item_type) else statement
    before = [None] * table.num_rows if had is None else had.to_pylist()
    column = pa.array([[*(own or ()), (FAILOVER_HEADER, value)] for own in before], type_)
    rest = table if had is None else table.drop_columns([HEADERS])
    return replace(output, table=rest.append_column(HEADERS, column))


def said(error: BaseException) -> str:
    if isinstance(error, WindrowError):
        return error.message
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _stopped(name: str) -> StoppedWaitingError:
    return StoppedWaitingError("WR821", f"the job is stopping while the output {name} is away: the batch is left for the next run")
