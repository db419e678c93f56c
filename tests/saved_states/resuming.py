"""Jobs that begin in a saved state, or make one: rows are handed to the program, and what it keeps goes to a folder like a real job's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from windrow.compiler import Compiled, compile_script
from windrow.connectors.memory.runtime import rows_to_table, table_stream
from windrow.jobs.cut_overs import as_it_runs
from windrow.jobs.identity import LETTERS, Origin, claim, parts_of, read_card
from windrow.jobs.spill import SPILL
from windrow.jobs.writer_choice import spill_folder
from windrow.model.policies import StateBackendSetting
from windrow.observe.row_metrics import totals_json
from windrow.plan.stages import Job, Read
from windrow.spark.execution.batch import BatchInput
from windrow.spark.execution.dead_letters import to_table
from windrow.spark.execution.executor import BatchExecutor
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.query.runner import LazyRelation
from windrow.spark.scan.row_reader import read_all
from windrow.spark.state.backends import StateBackendRules
from windrow.spark.state.state_store import StateStore
from windrow.sql import parse
from windrow.storage import LocalFolder, folder_name
from windrow.testing.compare import plain
from windrow.testing.engine import table_of, typed_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
# What is told of a saved state beside it.
TOLD, FOLDER = "saved.json", "state"
NOW = 1_767_225_600_000_000
SNAPSHOT_EVERY, FEW_BUCKETS = 3, 2
# The statement whose rows wait for an output, in the state that has such rows.
OUT = "out"

# A batch: rows of streams.
Batch = Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class SavedState:
    """``fed`` are the batches that led to it, ``next`` those that the expected ``outputs`` and ``letters`` came of."""

    name: str
    sql: str
    fed: tuple[Batch, ...]
    next: tuple[Batch, ...]
    home: str = "resident"
    # The text that the job had for the first two batches, where it has another since.
    before: str = ""
    # Windows and groups that are open, by statement, and what came after: filled in when the state is made.
    open: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    letters: tuple[Mapping[str, Any], ...] = ()
    waiting: int = 0
    # Totals of the metrics that annotations define, after ``next``; rows that wait for an output, by batch.
    metrics: Mapping[str, Any] = field(default_factory=dict)
    spilled: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def read(folder: Path) -> SavedState:
        told = json.loads((folder / TOLD).read_text(encoding="utf-8"))
        return SavedState(**{**told, "letters": tuple(told["letters"])})

    def compiled(self) -> Compiled:
        return compile_script(parse(self.sql, "job.sql", {}), bare_sink="memory")

    @property
    def job(self) -> Job:
        [job] = self.compiled().plan.jobs
        return job


def every_saved_state() -> list[Path]:
    return sorted(path.parent for path in HERE.glob(f"*/*/{TOLD}"))


def spilled_rows(own: Path) -> dict[str, Any]:
    """What waits for an output in the folder of a job, by batch, as JSON has it."""
    if not (own / SPILL).is_dir():
        return {}
    spill = spill_folder(LocalFolder(own), OUT)
    waiting = spill.recover(committed=2**31)
    return {str(one.batch_id): spill.read(one.batch_id)[1].to_pylist() for one in waiting}


class ResumedJob:
    """The job of a saved state over a folder, from the newest batch that the folder has; from the first if it is empty."""

    def __init__(self, spark: SparkSession, saved: SavedState, folder: Path) -> None:
        compiled = saved.compiled()
        [job] = compiled.plan.jobs
        self._spark = spark
        self.path = folder / folder_name(job.name)
        own = LocalFolder(self.path)
        self.id = claim(own, job, Origin.of(compiled.script, compiled.plan))
        card = read_card(own)
        self.job = as_it_runs(job, own, card)
        state, buckets = parts_of(card)
        self.store = StateStore(LocalFolder(self.path / state), SNAPSHOT_EVERY, meanings=column_meanings(self.job))
        rules = StateBackendRules(
            LocalFolder(self.path / buckets), StateBackendSetting(saved.home), buckets=FEW_BUCKETS, snapshot_every=SNAPSHOT_EVERY
        )
        self._executor = BatchExecutor(spark, self.job, {read.name: (0,) for read in self.job.reads}, rules)
        newest = max((version.batch_id for version in self.store.versions()), default=-1)
        self._executor.state = self.store.load(newest, self._executor.steps)
        self.outputs: dict[str, list[dict[str, Any]]] = {}

    def take(self, batch: Batch) -> None:
        batch_id = self._executor.state.batch_id + 1
        now = NOW + batch_id * 1_000_000
        frames = {read.name: frame for read in self.job.reads if (frame := self._frame(read, batch, batch_id, now)) is not None}
        for table in self.job.tables:
            if (frame := self._frame(table.read, batch, batch_id, now)) is not None:
                self._executor.tables.take(table.name, frame)
        given = {name: LazyRelation(frame) for name, frame in frames.items()}
        result = self._executor.run(BatchInput(batch_id, given, now))
        for name, flow in result.outputs.items():
            rows = table_of(self._spark, flow).to_pylist(maps_as_pydicts="lossy")
            self.outputs.setdefault(name, []).extend({name: plain(row[name]) for name in flow.columns} for row in rows)
        if result.dead_letters:
            buffer = BytesIO()
            pq.write_table(to_table(result.dead_letters), buffer)
            LocalFolder(self.path / LETTERS).replace_atomically(f"batch-{batch_id:010d}.parquet", buffer.getvalue())
        assert result.change is not None
        self.store.save(result.change)
        self._executor.commit(result)
        self.store.settle(self._executor.state)

    def _frame(self, read: Read, batch: Batch, batch_id: int, now: int) -> DataFrame | None:
        own = [typed_row(read, row) for stream, row in batch if stream == read.name]
        return read_all(read, table_stream(self._spark, rows_to_table(own, batch_id * 1000), 1), now) if own else None

    @property
    def metrics(self) -> Mapping[str, Any]:
        """The totals of metrics so far, as JSON has them."""
        told: Mapping[str, Any] = json.loads(json.dumps(totals_json(self._executor.state.metrics)))
        return told
