"""What every operator is: made from its spec, opened once a run, asked to process each batch, and asked what it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import polars as pl

from windrow.observe.status import EXECUTORS, StateSize
from windrow.plan.physical import OperatorSpec, PhysicalPlan, RunFacts
from windrow.plan.physical.strategies import State, Strategy
from windrow.plan.stages import Job, Stage
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.measurements import Phase
from windrow.spark.state.job_state import JobState, StepInput
from windrow.windowing.columns import END
from windrow.windowing.step import BatchTime, WindowStep

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from windrow.spark.execution.ledger_writer import LedgerWriter
    from windrow.spark.execution.watermarks import Watermarks
    from windrow.spark.operators.collected_scan import CollectedScans
    from windrow.spark.operators.shared_aggregation import SharedPass
    from windrow.spark.query.runner import QueryRunner
    from windrow.spark.state.backends import StateBackends
    from windrow.spark.tables.reference_tables import ReferenceTables

AnyStage = TypeVar("AnyStage", bound=Stage)


@dataclass
class JobContext:
    """What the operators of a job share for a run. ``plan`` is the one in force: it is made again when the facts of the run change.

    ``partitions`` are those of each source, where they are known.
    """

    spark: SparkSession
    job: Job
    plan: PhysicalPlan
    partitions: Mapping[str, tuple[int, ...] | None]
    queries: QueryRunner
    state_backends: StateBackends
    watermarks: Watermarks
    ledger: LedgerWriter
    tables: ReferenceTables
    steps: Mapping[str, WindowStep]
    collected: CollectedScans
    # By the names of the members.
    shared_passes: dict[str, SharedPass] = field(default_factory=dict)


class Operator(ABC, Generic[AnyStage]):
    """One stage of a job at work. ``spec`` says how; it may change between two batches."""

    phase: ClassVar[Phase] = Phase.TRANSFORM

    def __init__(self, spec: OperatorSpec, stage: AnyStage) -> None:
        self.spec = spec
        self.stage = stage

    @property
    def name(self) -> str:
        return self.stage.name

    def open(self, context: JobContext) -> None:
        """Once a run, before the first batch."""
        self.context = context

    @abstractmethod
    def process(self, batch: BatchContext) -> None:
        """Take the input of a batch from ``batch.flows`` and put the output there. An input that brought nothing may be missing."""

    def took(self, way: Strategy, batch: BatchContext) -> None:
        """Note a way that this operator goes, where it goes it."""
        batch.batch.measured.take_way(self.name, way)

    def found_out(self, facts: RunFacts, state: JobState) -> RunFacts:  # noqa: ARG002 - for operators that learn something
        """The facts of the run, with what this operator has learned by now: the plan of the next batch goes by them."""
        return facts

    def make_room(self, share: float, batch: BatchContext) -> None:
        """Let go of what is kept for late rows only: the oldest of it, as much as this share of its time holds."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Under which names the state of the job has what this operator holds."""
        return (self.name,) if self.name in self.context.steps else ()

    def held(self, state: JobState) -> StateSize:
        """What the operator holds. Of state on the executors, the rows stand for windows too: to count these would be a job."""
        size = self.size(state)
        if size.home == EXECUTORS:
            return size
        steps = {name: self.context.steps[name] for name in self.state_names if name in self.context.steps}
        windows = [found for name, step in steps.items() if (found := step.open_windows(state.tables.get(name, {}))) is not None]
        mark = self.watermark_of(state)
        closed = 0 if mark is None else sum(found.filter(pl.col(END) <= mark).height for found in windows if END in found.columns)
        return replace(size, windows=sum(found.height for found in windows), closed=closed)

    def watermark_of(self, state: JobState) -> int | None:  # noqa: ARG002 - for operators whose windows close
        """The watermark that closes the windows of this operator; None where it has none."""
        return None

    def size(self, state: JobState) -> StateSize:
        """The same without the number of windows where these would have to be counted: cheap at any size."""
        there = [one for name in self.state_names if (one := self.context.state_backends.distributed.get(name)) is not None]
        if there:
            rows = sum(one.rows_held for one in there)
            return StateSize(rows, sum(one.bytes_held for one in there), rows, EXECUTORS, None)
        tables = [table for name in self.state_names for table in state.tables.get(name, {}).values()]
        return StateSize(sum(table.height for table in tables), sum(int(table.estimated_size()) for table in tables))

    def keep(self, rows: pa.Table | None, batch: BatchContext) -> None:
        """Rows for the state of a stage that knows no windows: its step is asked when something changes, not by the watermark."""
        self.took(State.DRIVER, batch)
        tick = BatchTime(None, None, batch.batch.now)
        outcome = self.context.steps[self.name].step(batch.state.tables.get(self.name, {}), batch.state.take_schema(self.name, rows), tick)
        batch.tables[self.name] = outcome.state
        batch.steps[self.name] = StepInput(tick, rows)
