"""A micro-batch on its way through the stages of a job: what comes in, what is gathered, what it gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from windrow.observe.ledger import Ledger, TakenBack
from windrow.observe.traces import Producers
from windrow.plan.physical.strategies import Sink
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.spark.execution.late_row_counts import LateRowCounts
from windrow.spark.execution.measurements import BatchMeasurements
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import LazyRelation
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import Change, JobState, StepInput
from windrow.windowing.clock import Clock
from windrow.windowing.step import Tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class BatchInput:
    """A micro-batch: rows by source, as a ``RowReader`` gives them. A source that brought nothing may be missing.

    ``now`` is its arrival time in microseconds.
    """

    batch_id: int
    rows: Mapping[str, LazyRelation]
    now: int
    is_end: bool = False
    force_watermark: int | None = None
    # Rows that had been set aside before and come once more, by source or statement.
    replayed: Mapping[str, TakenBack] = field(default_factory=dict)
    # Of these, the rows that statements had given: letters, by statement. Those of sources are among the rows.
    returned: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    # What sources state themselves about how far they have come: the watermark after this batch.
    stated_watermarks: Mapping[str, int] = field(default_factory=dict)
    measured: BatchMeasurements = field(default_factory=BatchMeasurements)
    # Takes the trace contexts in which rows of the batch were produced, as far as they come to the driver. None: nobody asks for them.
    producers: Producers | None = None


@dataclass
class WindowActivity:
    """What the windows of a statement emitted in a batch, by kind: ``before_having`` and LIMIT, and as rows that went on (``emitted``)."""

    before_having: dict[str, int] = field(default_factory=dict)
    emitted: dict[str, int] = field(default_factory=dict)


@dataclass
class BatchResult:
    """What a batch gave. Outputs are by statement, in the order of the plan.

    ``settle`` is to be called once the outputs are written and before anything else of the batch is: rows that were counted by then
    come into the ledger.
    """

    batch_id: int
    outputs: dict[str, Flow] = field(default_factory=dict)
    # How the plan has the sinks get their rows, by statement.
    sinks: dict[str, Sink] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    change: Change | None = None
    settle: Callable[[], None] = lambda: None
    measured: BatchMeasurements = field(default_factory=BatchMeasurements)
    windows: dict[str, WindowActivity] = field(default_factory=dict)
    # Rows by source and partition, where they were counted so.
    partitions: dict[str, dict[int, int]] = field(default_factory=dict)
    late: LateRowCounts = field(default_factory=LateRowCounts)


@dataclass
class BatchContext:
    """What one batch gathers on its way through the stages."""

    batch: BatchInput
    result: BatchResult
    # The state before the batch; it moves on only when the batch is committed.
    state: JobState
    # The clocks as the batch found them, and as it moves them.
    before: Mapping[str, Clock]
    clocks: dict[str, Clock]
    counters: JobCounters
    flows: dict[str, Flow] = field(default_factory=dict)
    # The rows of sources that a join takes whole, as its sides.
    sides: dict[str, pa.Table] = field(default_factory=dict)
    are_sides_collected: bool = False
    # How many rows of these sources the filter of their side has left out.
    filtered: dict[str, int] = field(default_factory=dict)
    late: dict[str, Flow] = field(default_factory=dict)
    steps: dict[str, StepInput] = field(default_factory=dict)
    tables: dict[str, Tables] = field(default_factory=dict)
    cached: list[DataFrame] = field(default_factory=list)
    # What the executors made of the rows that several statements share, by the first of these.
    shared: dict[str, pa.Table] = field(default_factory=dict)
    # Greatest event times of stages with a clock of their own.
    greatest_times: dict[str, dict[int, int]] = field(default_factory=dict)
