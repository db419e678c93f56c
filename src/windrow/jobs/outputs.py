"""Where the rows of a running job go: the sinks of its statements, and its dead letters."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import Output, Refused, WriteTrace
from windrow.connectors.zones import labelled
from windrow.errors import WindrowError
from windrow.jobs.closed_windows import window_keeper
from windrow.jobs.identity import LETTERS, restores_of
from windrow.jobs.letter_topic import LetterTopic, letter_topic
from windrow.jobs.options import RunOptions
from windrow.jobs.output_writers import OutputWriter
from windrow.jobs.quarantine import Quarantine, letter_file
from windrow.jobs.replays import Replay
from windrow.jobs.rows import TOLD_APART_BY, KeptRows
from windrow.jobs.tracing import Tracing
from windrow.jobs.writer_choice import Opening, writer_of
from windrow.model.fate import Fate
from windrow.observe.ledger import Account, Ledger
from windrow.observe.status import OutputStatus
from windrow.plan.physical.strategies import Sink
from windrow.plan.stages import Job, Write
from windrow.spark.execution.batch import BatchResult
from windrow.spark.execution.dead_letters import DeadLetter, to_table
from windrow.spark.execution.ledger_writer import record_refused, record_written
from windrow.spark.execution.measurements import Phase
from windrow.spark.query.flow import Flow
from windrow.storage import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of an error that no connector has a code for.
UNEXPECTED = "WR999"


class Outputs:
    """Each write can be repeated without effect. ``seconds`` is how long each statement's took in the last batch, ``errors`` how often one
    failed since the run began, by statement and code."""

    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        options: RunOptions,
        folder: Folder,
        job_id: str,
        stopping: threading.Event,
        quarantine: Quarantine,
        kept: KeptRows | None = None,
        tracing: Tracing | None = None,
        check: Callable[[], None] = lambda: None,
        failed: Callable[[WindrowError], None] = lambda _error: None,
    ) -> None:
        self._spark = spark
        self._job = job
        self._options = options
        self._folder = folder
        self._id = job_id
        self._stopping = stopping
        self._quarantine = quarantine
        self._kept = kept
        self._tracing = tracing
        self._opening = Opening(spark, folder, job_id, stopping, check, failed)
        self._writers: dict[str, OutputWriter] = {}
        self._dead_letters = folder.child(LETTERS)
        self._windows = window_keeper(spark, job, folder, options)
        self._letter_topic: LetterTopic | None = None
        self._is_open = False
        self.seconds: dict[str, float] = {}
        self.errors: Counter[tuple[str, str]] = Counter()

    def open(self, committed: int = -1) -> None:
        """Once a run: what is open stays so over an outage of a source. Batches up to ``committed`` are done."""
        if self._is_open:
            return
        for write in self._job.writes:
            if self._kept is not None and CONNECTORS[write.connector].keeps_rows:
                # What is kept is all that is wanted.
                continue
            writer = writer_of(write, self._opening, committed)
            writer.open()
            self._writers[write.input] = writer
        self._letter_topic = letter_topic(self._options, self._id, restores_of(self._folder), self._job.name, self._stopping)
        if self._letter_topic is not None:
            self._letter_topic.open()
        if self._windows is not None:
            self._windows.open(committed)
        self._is_open = True

    @property
    def counting(self) -> frozenset[str]:
        """Statements whose sinks count the rows that they read. Rows that are kept are read twice, so they are counted before."""
        if self._kept is not None:
            return frozenset()
        return frozenset(name for name, writer in self._writers.items() if writer.counts_rows)

    def write(self, result: BatchResult, replay: Replay) -> None:
        self._keep(result)
        for write in self._job.writes:
            flow = result.outputs.get(write.input)
            # Rows that are only kept for Python have no sink.
            if flow is not None and write.input in self._writers:
                with result.measured.operator(write.name, Phase.WRITE):
                    trace = None if self._tracing is None else self._tracing.write_trace(result.batch_id, write)
                    self._write_one(write, flow, result, trace)
        with result.measured.phase(Phase.WRITE):
            if self._windows is not None:
                self._windows.write(result)
            result.settle()
        if result.dead_letters:
            with result.measured.phase(Phase.DEAD_LETTERS):
                self._write_letters(result, replay)

    def committed(self, batch_id: int) -> None:
        """The change file of a batch is durable."""
        for writer in self._writers.values():
            writer.committed(batch_id)
        if self._windows is not None:
            self._windows.tidy(batch_id)

    def drain(self) -> None:
        """The job has come to its end: what still waits for an output is delivered, as long as the job is willing to wait."""
        for writer in self._writers.values():
            writer.drain(float(self._options.setting("outage.max_seconds")))

    @property
    def history_bytes(self) -> int | None:
        return None if self._windows is None else self._windows.bytes

    def statuses(self, ledger: Ledger) -> tuple[OutputStatus, ...]:
        found = [status for writer in list(self._writers.values()) if (status := writer.status()) is not None]
        return tuple(_counted(status, ledger.statements.get(status.statement, Account())) for status in found)

    def _write_one(self, write: Write, flow: Flow, result: BatchResult, trace: WriteTrace | None) -> None:
        """The seconds of a sink are those of the operator that writes."""
        assert result.change is not None
        name, writer = write.input, self._writers[write.input]
        started = time.monotonic()
        output = self._output(write, flow, result, trace)
        try:
            written = writer.write(output)
        except Exception as error:
            self.errors[name, getattr(error, "code", UNEXPECTED)] += 1
            raise
        record_written(result.change.ledger, name, written.spilled, written.failed_over, written.unsent)
        _set_aside(name, written.refused, result)
        self.seconds[name] = time.monotonic() - started
        table = output.table
        times = table["_event_time"] if table is not None and "_event_time" in table.column_names else None
        result.measured.take_written(name, self.seconds[name], times)

    def _output(self, write: Write, flow: Flow, result: BatchResult, trace: WriteTrace | None) -> Output:
        """The rows as the plan has the sink get them."""
        sink = result.sinks[write.input]
        result.measured.take_way(write.name, sink)
        match sink:
            case Sink.TABLE | Sink.COLLECTED:
                table = labelled(flow.as_table(self._spark), self._job.time_zone)
                return Output(result.batch_id, flow.columns, table, None, trace=trace)
            case Sink.FRAME:
                return Output(result.batch_id, flow.columns, None, flow.as_frame(self._spark), trace=trace)
            case Sink.COUNTED_FRAME:
                return Output(result.batch_id, flow.columns, None, flow.as_frame(self._spark), row_counter=flow.row_counter, trace=trace)

    def _write_letters(self, result: BatchResult, replay: Replay) -> None:
        buffer = BytesIO()
        letters = self._quarantine.marked(to_table(result.dead_letters, replay.attempts))
        pq.write_table(letters, buffer)
        self._dead_letters.replace_atomically(letter_file(result.batch_id), buffer.getvalue())
        if self._letter_topic is not None:
            self._letter_topic.write(result.batch_id, letters)

    def _keep(self, result: BatchResult) -> None:
        """What every sink gets, for whoever asks from Python."""
        for write in self._job.writes if self._kept is not None else ():
            flow = result.outputs.get(write.input)
            if self._kept is None or flow is None:
                continue
            whole = labelled(flow.as_table(self._spark), self._job.time_zone)
            beside = [name for name in TOLD_APART_BY if name in whole.column_names and name not in flow.columns]
            own = whole.select([*flow.columns, *(beside if self._kept.is_whole else ())])
            if own.num_rows:
                self._kept.take(write.input, result.batch_id, own)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        if self._letter_topic is not None:
            self._letter_topic.close()


def _counted(status: OutputStatus, account: Account) -> OutputStatus:
    dropped = sum(account.unsent.values())
    return replace(status, spilled=account.spilled, failed_over=account.failed_over, dropped=dropped)


def _set_aside(statement: str, refused: Sequence[Refused], result: BatchResult) -> None:
    """Rows that an output refuses are dead letters of the statement that made them."""
    assert result.change is not None
    record_refused(result.change.ledger, statement, len(refused))
    for one in refused:
        result.dead_letters.append(DeadLetter(Fate.REFUSED, statement, statement, one.row, result.batch_id, one.why))
