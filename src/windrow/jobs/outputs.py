"""Where the rows of a running job go: the sinks of its statements, and its dead letters."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from windrow.connectors.runtime import Output, Refused, Sink, SinkRequest, WriteTrace
from windrow.connectors.zones import labelled
from windrow.jobs.connector_loader import connector_of
from windrow.jobs.identity import LETTERS, restores_of
from windrow.jobs.letter_topic import LetterTopic, letter_topic
from windrow.jobs.options import RunOptions
from windrow.jobs.replays import Replay
from windrow.jobs.rows import KeptRows
from windrow.jobs.tracing import Tracing
from windrow.model.fate import Fate
from windrow.plan.stages import Job
from windrow.spark.execution.batch import BatchResult
from windrow.spark.execution.dead_letters import DeadLetter, to_table
from windrow.spark.execution.ledger_writer import record_refused
from windrow.spark.execution.measurements import Phase
from windrow.spark.query.flow import Flow
from windrow.storage import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "memory"
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
        kept: KeptRows | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._spark = spark
        self._job = job
        self._options = options
        self._folder = folder
        self._id = job_id
        self._stopping = stopping
        self._kept = kept
        self._tracing = tracing
        self._sinks: dict[str, Sink] = {}
        self._dead_letters = folder.child(LETTERS)
        self._letter_topic: LetterTopic | None = None
        self._is_open = False
        self.seconds: dict[str, float] = {}
        self.errors: Counter[tuple[str, str]] = Counter()

    def open(self) -> None:
        """Once a run: what is open stays so over an outage of a source."""
        if self._is_open:
            return
        for write in self._job.writes:
            if self._kept is not None and write.connector == MEMORY:
                # What is kept is all that is wanted.
                continue
            request = SinkRequest(write.input, dict(write.options), self._id, write.columns, write.key, self._stopping)
            sink = connector_of(write.connector).open_sink(self._spark, request)
            sink.open()
            self._sinks[write.input] = sink
        self._letter_topic = letter_topic(self._options, self._id, restores_of(self._folder), self._job.name, self._stopping)
        if self._letter_topic is not None:
            self._letter_topic.open()
        self._is_open = True

    @property
    def counting(self) -> frozenset[str]:
        """Statements whose sinks count the rows that they read. Rows that are kept are read twice, so they are counted before."""
        if self._kept is not None:
            return frozenset()
        return frozenset(name for name, sink in self._sinks.items() if sink.counts_rows)

    def write(self, result: BatchResult, replay: Replay) -> None:
        self._keep(result)
        for write in self._job.writes:
            flow = result.outputs.get(write.input)
            # Rows that are only kept for Python have no sink.
            if flow is not None and write.input in self._sinks:
                with result.measured.operator(write.name, Phase.WRITE):
                    trace = None if self._tracing is None else self._tracing.write_trace(result.batch_id, write)
                    self._write_one(write.input, self._sinks[write.input], flow, result, trace)
        with result.measured.phase(Phase.WRITE):
            result.settle()
        if result.dead_letters:
            with result.measured.phase(Phase.DEAD_LETTERS):
                self._write_letters(result, replay)

    def _write_one(self, name: str, sink: Sink, flow: Flow, result: BatchResult, trace: WriteTrace | None) -> None:
        """The seconds of a sink are those of the operator that writes."""
        started = time.monotonic()
        frame = flow.frame if flow.table is None else None
        table = None if flow.table is None else labelled(flow.table, self._job.time_zone)
        try:
            refused = sink.write(Output(result.batch_id, flow.columns, table, frame, books=flow.books, trace=trace))
        except Exception as error:
            self.errors[name, getattr(error, "code", UNEXPECTED)] += 1
            raise
        _set_aside(name, refused or (), result)
        self.seconds[name] = time.monotonic() - started
        times = table["_event_time"] if table is not None and "_event_time" in table.column_names else None
        result.measured.take_written(name, self.seconds[name], times)

    def _write_letters(self, result: BatchResult, replay: Replay) -> None:
        buffer = BytesIO()
        letters = to_table(result.dead_letters, replay.attempts)
        pq.write_table(letters, buffer)
        self._dead_letters.replace_atomically(f"batch-{result.batch_id:010d}.parquet", buffer.getvalue())
        if self._letter_topic is not None:
            self._letter_topic.write(result.batch_id, letters)

    def _keep(self, result: BatchResult) -> None:
        """What every sink gets, for whoever asks from Python."""
        for write in self._job.writes if self._kept is not None else ():
            flow = result.outputs.get(write.input)
            if self._kept is None or flow is None:
                continue
            if flow.table is None and flow.frame is None:
                flow.as_frame(self._spark)
            table = flow.table
            if table is None:
                assert flow.frame is not None
                table = flow.frame.toArrow()
                table = table.sort_by("_seq") if "_seq" in table.column_names else table
            own = labelled(table, self._job.time_zone).select(list(flow.columns))
            if own.num_rows:
                self._kept.take(write.input, result.batch_id, own)

    def close(self) -> None:
        for sink in self._sinks.values():
            sink.close()
        if self._letter_topic is not None:
            self._letter_topic.close()


def _set_aside(statement: str, refused: Sequence[Refused], result: BatchResult) -> None:
    """Rows that an output refuses are dead letters of the statement that made them."""
    assert result.change is not None
    record_refused(result.change.ledger, statement, len(refused))
    for one in refused:
        result.dead_letters.append(DeadLetter(Fate.REFUSED, statement, statement, one.row, result.batch_id, one.why))
