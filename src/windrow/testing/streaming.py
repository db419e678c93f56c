"""A case through Structured Streaming: real files, a real checkpoint, real restarts. Slower, and as close to a job as it gets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.compiler import Compiled
from windrow.connectors.memory.runtime import FOLDERS, rows_to_table, table_stream
from windrow.connectors.runtime import SourceStream
from windrow.jobs.inputs import Inputs
from windrow.jobs.options import RunOptions
from windrow.jobs.replays import NO_REPLAY, Replay
from windrow.jobs.runner import RunningJob
from windrow.plan.stages import Job, LoadTable, Read
from windrow.spark.execution.batch import BatchInput, BatchResult
from windrow.spark.query.runner import LazyRelation
from windrow.spark.scan.row_reader import read_all
from windrow.testing.engine import FEW_BUCKETS, SNAPSHOT_EVERY, Outcome, Rows, arrival_after, typed_row
from windrow.testing.file_inputs import reading_files, write_file
from windrow.testing.open_windows import open_windows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StreamingEngine:
    """``format_`` says what rows are: files of the files connector, or records with all that a row may state of itself (None)."""

    def __init__(
        self, spark: SparkSession, compiled: Compiled, partitions: tuple[int, ...], folder: Path, home: str, format_: str | None = None
    ) -> None:
        self._spark = spark
        self._plan = compiled.plan
        self._format = format_
        if format_ is not None:
            self._plan = replace(compiled.plan, jobs=tuple(reading_files(job, folder / "input", format_) for job in compiled.plan.jobs))
        self._folder = folder
        self._partitions = partitions
        self._outcome = Outcome.of(compiled.plan.jobs)
        self._seq = 0
        self._files = 0
        self._home = home
        self.now = time.time_ns() // 1000
        self._jobs: list[_CaseJob] = []
        for job in self._plan.jobs:
            for name in (*(read.name for read in job.reads), *(table.name for table in job.tables)):
                FOLDERS[name] = folder / "input" / name
                FOLDERS[name].mkdir(parents=True, exist_ok=True)
        self._start()

    def _start(self) -> None:
        settings = {"state.snapshot.every": str(SNAPSHOT_EVERY), "state.home": self._home, "state.buckets": str(FEW_BUCKETS)}
        options = RunOptions(state=self._folder / "state", settings=settings)
        self._jobs = [_CaseJob(self._spark, job, options, self) for job in self._plan.jobs]
        for job in self._jobs:
            job.start()

    def feed(self, rows: Rows) -> None:
        self.now = arrival_after(rows, self.now)
        self._feed_tables(rows)
        for job in self._plan.jobs:
            for read in job.reads:
                own = [typed_row(read, row) for stream, row in rows if stream.lower() == read.name.lower()]
                if own:
                    self._write(read, own)
        self._seq += len(rows)
        self._settle()

    def _feed_tables(self, rows: Rows) -> None:
        """Each job takes the rows at once; the file is there for when it comes back."""
        for table in {table.name: table for job in self._plan.jobs for table in job.tables}.values():
            own = [typed_row(table.read, row) for stream, row in rows if stream.lower() == table.name.lower()]
            if own:
                self._write_records(table.name, own)
                for job in self._jobs:
                    job.take_table(table, rows_to_table(own, self._seq))

    def _write(self, read: Read, rows: list[Mapping[str, Any]]) -> None:
        if self._format is None:
            self._write_records(read.name, rows)
            return
        write_file(FOLDERS[read.name] / f"{self._files:06d}.{self._format}", read, rows)
        self._files += 1

    def _write_records(self, stream: str, rows: list[Mapping[str, Any]]) -> None:
        """One file is one micro-batch. It appears under its name only when it is whole."""
        stamped = [row if row.get("_timestamp") is not None else {**row, "_timestamp": self.now // 1000} for row in rows]
        hidden = FOLDERS[stream] / f".{self._files:06d}.tmp"
        pq.write_table(self._outcome.hand_over(stream, stamped, self._seq), hidden)
        hidden.rename(FOLDERS[stream] / f"{self._files:06d}.parquet")
        self._files += 1

    def _settle(self) -> None:
        for job in self._jobs:
            job.drain()

    def _tick(self, force: int | None = None, *, is_end: bool = False) -> None:
        """A batch without rows, in which time does something."""
        for job in self._jobs:
            job.force, job.is_end = force, is_end
            self._write(job.job.reads[0], [])
            job.drain()
            job.force, job.is_end = None, False

    def advance_clock(self, micros: int) -> None:
        self.now += micros
        self._tick()

    def force_watermark(self, watermark: int) -> None:
        self._tick(watermark)

    def end(self) -> None:
        self._tick(is_end=True)

    def restart(self) -> None:
        for job in self._jobs:
            job.stop()
        self._start()

    def finish(self) -> Outcome:
        for job in self._jobs:
            self._outcome.ledger.add(job.status().ledger)
            self._outcome.still_open.update(job.still_open())
        return self._outcome

    def gather(self, result: BatchResult) -> None:
        self._outcome.take(result, self._spark)

    def partitions(self) -> tuple[int, ...]:
        return self._partitions

    def close(self) -> None:
        for job in self._jobs:
            job.stop()


class _CaseInputs(Inputs):
    """The case says which partitions there are."""

    known: tuple[int, ...] = ()

    def partition_ids(self, _stream: SourceStream) -> tuple[int, ...] | None:
        return self.known


class _CaseJob(RunningJob):
    """A job whose arrival clock is the case's, and whose results are kept for comparison."""

    def __init__(self, spark: SparkSession, job: Job, options: RunOptions, case: StreamingEngine) -> None:
        self._case = case
        super().__init__(spark, job, options)
        self.force: int | None = None
        self.is_end = False

    def _make_inputs(self) -> Inputs:
        given = (self._spark, self.job, self._options, self.folder, self._checkpoint, self._is_stopping, self._on_load, self._pacing)
        made = _CaseInputs(*given)
        made.known = self._case.partitions()
        return made

    def _arrival_of(self, _batch_id: int) -> int:
        return self._case.now

    def _batch_input(self, batch_id: int, rows: dict[str, LazyRelation], now: int) -> BatchInput:
        # Of a stream without columns nobody has said anything, and it brings nothing.
        known = {read.name for read in self.job.reads if read.columns}
        return BatchInput(batch_id, {name: own for name, own in rows.items() if name in known}, now, self.is_end, self.force)

    def _commit(self, result: BatchResult, replay: Replay = NO_REPLAY, *, is_end: bool = False) -> None:
        super()._commit(result, replay, is_end=is_end)
        self._case.gather(result)

    def take_table(self, table: LoadTable, rows: pa.Table) -> None:
        if table in self.job.tables:
            self._executor.tables.take(table.name, read_all(table.read, table_stream(self._spark, rows, 1), self._case.now))

    def still_open(self) -> dict[str, str]:
        return open_windows_of(self._executor)

    def drain(self) -> None:
        assert self.query is not None
        try:
            self.query.processAllAvailable()
        except Exception:
            self.await_end(30)
            raise
