"""The two ways to run a case: the executor by itself, and the same through Structured Streaming."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from windrow.compiler import Compiled
from windrow.connectors.memory.runtime import RESERVED, rows_to_table, table_stream
from windrow.model.fate import Fate
from windrow.model.policies import StateBackendSetting
from windrow.model.types import TIMESTAMP
from windrow.observe.batch_record import BatchRecord, imbalances
from windrow.observe.ledger import Ledger
from windrow.plan.stages import Aggregate, Job, Read, counts_answers, row_inputs
from windrow.spark.execution.batch import BatchInput, BatchResult
from windrow.spark.execution.batch_recorder import BatchRecorder
from windrow.spark.execution.dead_letters import DeadLetter, instant
from windrow.spark.execution.executor import BatchExecutor
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import LazyRelation
from windrow.spark.scan.row_reader import read_all
from windrow.spark.state.backends import StateBackendRules
from windrow.spark.state.state_store import StateStore
from windrow.storage import Files, LocalFolder
from windrow.testing.open_windows import open_windows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = Sequence[tuple[str, Mapping[str, Any]]]

# Cases are short: both are small enough that some case goes beyond one of each.
SNAPSHOT_EVERY = 3
FEW_BUCKETS = 2


@dataclass
class Outcome:
    """Everything a case gave: rows by statement, dead letters as the rows they were, and the ledger.

    ``late_streams`` are those that LATE_DATA_STRATEGY names, by statement.
    """

    late_streams: Mapping[str, str] = field(default_factory=dict)
    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    dead_letters: list[dict[str, Any]] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    # What was still open at the end, by statement, in a sentence.
    still_open: dict[str, str] = field(default_factory=dict)
    # Batches in which the rows of some operator do not add up, a sentence each.
    imbalances: list[str] = field(default_factory=list)
    _arrived: dict[tuple[str, int, int], int] = field(default_factory=dict)

    @staticmethod
    def of(jobs: Iterable[Job]) -> Outcome:
        """Nothing yet, of these jobs."""
        stages = (stage for job in jobs for stage in job.stages if isinstance(stage, Aggregate))
        return Outcome({stage.name: stage.late_stream for stage in stages if stage.late_stream is not None})

    def hand_over(self, stream: str, rows: Sequence[Mapping[str, Any]], first: int) -> pa.Table:
        """Rows as their source brings them, numbered from ``first``; dead letters come in the order of these numbers."""
        table = rows_to_table(rows, first)
        places = zip(table["_partition"].to_pylist(), table["_offset"].to_pylist(), table["_seq"].to_pylist(), strict=True)
        self._arrived.update({(stream.lower(), partition, offset): number for partition, offset, number in places})
        return table

    def take(self, result: BatchResult, spark: SparkSession) -> None:
        """What a batch gave. Late rows for a stream that no statement reads are dead letters: both are asked for by name."""
        for name, flow in result.outputs.items():
            self.outputs.setdefault(name, []).extend(table_of(spark, flow).to_pylist(maps_as_pydicts="lossy"))
        # In a batch they stand as Spark's tasks gave them, which is by chance.
        for letter in sorted(result.dead_letters, key=self._arrival):
            row = {**dict(letter.row), **letter.values, **_lateness(letter)}
            if letter.constraint is not None:
                row["_constraint"] = letter.constraint
            self.dead_letters.append(row)
            stream = self.late_streams.get(letter.statement or "")
            if letter.fate is Fate.LATE and stream is not None:
                self.outputs.setdefault(stream, []).append(row)

    def _arrival(self, letter: DeadLetter) -> int:
        partition, offset = letter.row.get("_partition") or 0, letter.row.get("_offset") or 0
        return self._arrived.get((letter.source.lower(), partition, offset), offset)

    def rows_of(self, name: str) -> list[dict[str, Any]]:
        wanted = name.lower()
        return next((rows for key, rows in self.outputs.items() if key.lower() == wanted), [])

    def still_open_of(self, name: str) -> str | None:
        """Of the statement itself, else of any that it may read from."""
        wanted = name.lower()
        own = next((text for key, text in self.still_open.items() if key.lower() == wanted), None)
        return own or next((f"{key}: {text}" for key, text in self.still_open.items()), None)


def _lateness(letter: DeadLetter) -> dict[str, Any]:
    """What a late row was judged by, under names that no column of the user's has."""
    if letter.late is None:
        return {}
    late_by = timedelta(microseconds=letter.late.late_by)
    return {"_watermark": instant(letter.late.watermark), "_late_by": late_by, "_late_window_end": instant(letter.late.window_end)}


class Engine(Protocol):
    def feed(self, rows: Rows) -> None: ...
    def advance_clock(self, micros: int) -> None: ...
    def force_watermark(self, watermark: int) -> None: ...
    def restart(self) -> None: ...
    def end(self) -> None: ...
    def finish(self) -> Outcome: ...
    def close(self) -> None: ...


class DirectEngine:
    """Calls each job's executor with one frame a source and batch: no query, no offset log."""

    def __init__(
        self, spark: SparkSession, compiled: Compiled, partitions: tuple[int, ...], folder: Path, home: str, buckets: Files | None = None
    ) -> None:
        self._spark = spark
        self._partitions = partitions
        self._now = time.time_ns() // 1000
        self._seq = 0
        self._batch = -1
        self._outcome = Outcome.of(compiled.plan.jobs)
        there = buckets or LocalFolder(folder / "buckets")
        self._runs = [
            _JobRun(spark, job, partitions, folder / str(i), home, there.child(str(i))) for i, job in enumerate(compiled.plan.jobs)
        ]

    def feed(self, rows: Rows) -> None:
        self._now = arrival_after(rows, self._now)
        first = self._seq
        self._seq += len(rows)
        numbered = [(stream, row, first + i) for i, (stream, row) in enumerate(rows)]
        self._step(numbered)

    def _step(self, rows: Sequence[tuple[str, Mapping[str, Any], int]] = (), *, is_end: bool = False, force: int | None = None) -> None:
        self._batch += 1
        for run in self._runs:
            given = {read.name: LazyRelation(frame) for read in run.job.reads if (frame := self._frame(read, rows)) is not None}
            for table in run.job.tables:
                if (frame := self._frame(table.read, rows)) is not None:
                    run.executor.tables.take(table.name, frame)
            result = run.executor.run(BatchInput(self._batch, given, self._now, is_end, force))
            self._outcome.take(result, self._spark)
            run.commit(result)
            self._outcome.imbalances += run.imbalances(result, self._now)

    def _frame(self, read: Read, rows: Sequence[tuple[str, Mapping[str, Any], int]]) -> DataFrame | None:
        """What a batch brings for one source or table."""
        own = [(typed_row(read, row), seq) for stream, row, seq in rows if stream.lower() == read.name.lower()]
        if not own:
            return None
        table = self._outcome.hand_over(read.name, [row for row, _ in own], own[0][1])
        return read_all(read, table_stream(self._spark, table, len(self._partitions)), self._now)

    def advance_clock(self, micros: int) -> None:
        self._now += micros
        self._step()

    def force_watermark(self, watermark: int) -> None:
        self._step(force=watermark)

    def restart(self) -> None:
        for run in self._runs:
            run.restart(self._batch)

    def end(self) -> None:
        self._step(is_end=True)

    def finish(self) -> Outcome:
        for run in self._runs:
            self._outcome.ledger.add(run.executor.state.ledger)
            self._outcome.still_open.update(open_windows_of(run.executor))
        return self._outcome

    @property
    def records(self) -> list[BatchRecord]:
        """What running jobs would keep of their batches."""
        return [record for run in self._runs for record in run.records]

    def close(self) -> None:
        """Nothing is held."""


class _JobRun:
    """One job's executor with its durable state."""

    def __init__(self, spark: SparkSession, job: Job, partitions: tuple[int, ...], folder: Path, home: str, buckets: Files) -> None:
        self.job = job
        self._spark = spark
        self._partitions = {read.name: partitions for read in job.reads}
        self._store: StateStore | None = None
        self._folder = folder
        self._changes: list[BatchResult] = []
        self._rules = StateBackendRules(buckets, StateBackendSetting(home), buckets=FEW_BUCKETS, snapshot_every=SNAPSHOT_EVERY)
        self.executor = BatchExecutor(spark, job, self._partitions, self._rules)
        self._recorder = BatchRecorder(self.executor)
        self.records: list[BatchRecord] = []

    def commit(self, result: BatchResult) -> None:
        self._changes.append(result)
        self.executor.commit(result)

    def imbalances(self, result: BatchResult, now: int) -> list[str]:
        """By the record that a running job would keep of the batch."""
        result.measured.end()
        result.measured.take_ledger(self.executor.plan, result.ledger)
        inputs = {stage.name: row_inputs(stage) for stage in self.job.stages if not counts_answers(stage)}
        self.records.append(self._recorder.record(result, {}, now))
        return imbalances(self.records[-1], inputs)

    def restart(self, batch_id: int) -> None:
        """Write what a job would have written by now, forget everything, and come back from the files."""
        store = self._store or StateStore(LocalFolder(self._folder), SNAPSHOT_EVERY, meanings=column_meanings(self.job))
        self._store = store
        for result in self._changes:
            assert result.change is not None
            store.save(result.change)
        self._changes.clear()
        store.settle(self.executor.state)
        fresh = BatchExecutor(self._spark, self.job, self._partitions, self._rules, self.executor.tables)
        fresh.state = store.load(batch_id, fresh.steps)
        self.executor = fresh
        self._recorder = BatchRecorder(fresh)


def arrival_after(rows: Rows, now: int) -> int:
    """The arrival clock after rows that may say themselves when they arrived: it goes on from there."""
    stated = [int(row["_timestamp"]) * 1000 for _, row in rows if row.get("_timestamp") is not None]
    return max(stated) if stated else now


def table_of(spark: SparkSession, flow: Flow) -> pa.Table:
    """A flow's rows in input order."""
    if flow.table is not None:
        return flow.table
    table = flow.as_frame(spark).toArrow()
    return table.sort_by("_seq") if "_seq" in table.column_names else table


def typed_row(read: Read, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Times in a case are epoch milliseconds; as JSON text they must be readable as the column's type."""
    times = {column.name for column in read.columns if column.type == TIMESTAMP}
    if not times & row.keys():
        return row
    return {name: _iso(value) if name in times and name not in RESERVED else value for name, value in row.items()}


def _iso(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)).isoformat()
