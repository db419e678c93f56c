"""Where the rows of a running job go: the sinks of its statements, and its dead letters."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from windrow.connectors.runtime import Output, Refused, Sink, SinkRequest
from windrow.connectors.zones import labelled
from windrow.jobs.connecting import runtime_of
from windrow.jobs.identity import LETTERS, restores_of
from windrow.jobs.letter_topic import LetterTopic, letter_topic
from windrow.jobs.options import RunOptions
from windrow.jobs.replays import Replay
from windrow.model.fate import Fate
from windrow.plan.stages import Job
from windrow.spark.batch import BatchResult
from windrow.spark.dead_letters import DeadLetter, to_table
from windrow.spark.folders import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Outputs:
    """Each write can be repeated without effect. ``seconds`` is how long each statement's took in the last batch."""

    def __init__(self, spark: SparkSession, job: Job, options: RunOptions, folder: Folder, job_id: str, stopping: threading.Event) -> None:
        self._spark = spark
        self._job = job
        self._options = options
        self._folder = folder
        self._id = job_id
        self._stopping = stopping
        self._sinks: dict[str, Sink] = {}
        self._dead_letters = folder.child(LETTERS)
        self._letter_topic: LetterTopic | None = None
        self._is_open = False
        self.seconds: dict[str, float] = {}

    def open(self) -> None:
        """Once a run: what is open stays so over an outage of a source."""
        if self._is_open:
            return
        for write in self._job.writes:
            request = SinkRequest(write.input, dict(write.options), self._id, write.columns, write.key, self._stopping)
            sink: Sink = runtime_of(write.connector).open_sink(self._spark, request)
            sink.open()
            self._sinks[write.input] = sink
        self._letter_topic = letter_topic(self._options, self._id, restores_of(self._folder), self._job.name, self._stopping)
        if self._letter_topic is not None:
            self._letter_topic.open()
        self._is_open = True

    @property
    def counting(self) -> frozenset[str]:
        """Statements whose sinks count the rows that they read."""
        return frozenset(name for name, sink in self._sinks.items() if getattr(sink, "counts_rows", False))

    def write(self, result: BatchResult, replay: Replay) -> None:
        for name, sink in self._sinks.items():
            flow = result.outputs.get(name)
            if flow is not None:
                started = time.monotonic()
                frame = flow.frame if flow.table is None else None
                table = None if flow.table is None else labelled(flow.table, self._job.time_zone)
                refused = sink.write(Output(result.batch_id, flow.columns, table, frame, books=flow.books))
                _set_aside(name, refused or (), result)
                self.seconds[name] = time.monotonic() - started
        result.settle()
        if result.dead_letters:
            buffer = BytesIO()
            letters = to_table(result.dead_letters, replay.attempts)
            pq.write_table(letters, buffer)
            self._dead_letters.write(f"batch-{result.batch_id:010d}.parquet", buffer.getvalue())
            if self._letter_topic is not None:
                self._letter_topic.write(result.batch_id, letters)

    def close(self) -> None:
        for sink in self._sinks.values():
            sink.close()
        if self._letter_topic is not None:
            self._letter_topic.close()


def _set_aside(statement: str, refused: Sequence[Refused], result: BatchResult) -> None:
    """Rows that an output refuses are dead letters of the statement that made them."""
    assert result.change is not None
    result.change.ledger.statement(statement).refused += len(refused)
    for one in refused:
        result.dead_letters.append(DeadLetter(Fate.REFUSED, statement, statement, one.row, result.batch_id, one.why))
