"""Joins of two streams: the operator and the steps that belong to each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa

from windrow.model.fate import Fate
from windrow.model.window import DropLate
from windrow.plan.physical.strategies import Sides, State
from windrow.plan.stages import IntervalJoin, Read, StreamJoin
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.spark.execution.ledger_writer import record_emitted, record_joined, record_late_dead, record_late_dropped
from windrow.spark.execution.measurements import Phase
from windrow.spark.operators.asof_join import AsofJoiner, asof_steps
from windrow.spark.operators.base import Operator
from windrow.spark.operators.interval_join import IntervalJoiner, interval_steps
from windrow.spark.operators.row_lateness import late_for_join
from windrow.spark.operators.window_join import WindowJoiner, window_steps
from windrow.spark.query.flow import Flow
from windrow.spark.row_columns import ROW
from windrow.spark.scan.diverted_rows import unpack_rows
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import JobState
from windrow.windowing.step import WindowStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Joiner = IntervalJoiner | AsofJoiner | WindowJoiner


class StreamJoinOperator(Operator[StreamJoin]):
    """Joins of two streams, of whichever kind: a joiner pairs the rows of a batch with each other and with what is held."""

    phase = Phase.STEP

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(side_steps(self.stage))

    def process(self, batch: BatchContext) -> None:
        stage, ledger = self.stage, batch.result.ledger
        joiner = joiner_of(self.context.spark, stage, batch.state, batch.counters)
        left, right = self._sides(batch)
        tick = self.context.watermarks.of_join(stage, batch)
        found = joiner.run(left, right, tick)
        batch.steps.update(found.steps)
        batch.tables.update(found.tables)
        if found.tables:
            self.took(State.DRIVER, batch)
        before = sum(batch.filtered.get(name, 0) for name in stage.inputs)
        late = sum(map(len, found.late.values()))
        record_joined(ledger, stage.name, found.taken + before, found.left_out + before, late)
        for index, texts in found.late.items():
            self._late((stage.left, stage.right)[index].input, texts, tick.watermark_before, batch)
        if found.flow is not None:
            assert found.flow.table is not None
            record_emitted(ledger, stage.name, found.flow.table.num_rows)
            batch.flows[stage.name] = found.flow

    def _sides(self, batch: BatchContext) -> tuple[Flow | pa.Table | None, Flow | pa.Table | None]:
        """The rows of each side, from where the plan has them."""
        left, right = self.stage.left.input, self.stage.right.input
        match self.spec.chosen(Sides):
            case Sides.COLLECTED_AT_ONCE:
                self.took(Sides.COLLECTED_AT_ONCE, batch)
                return batch.sides.get(left), batch.sides.get(right)
            case Sides.COLLECTED_ONE if left in self.context.plan.collected:
                self.took(Sides.COLLECTED_ONE, batch)
                return batch.sides.get(left), batch.flows.get(right)
            case Sides.COLLECTED_ONE:
                self.took(Sides.COLLECTED_ONE, batch)
                return batch.flows.get(left), batch.sides.get(right)
            case _:
                self.took(Sides.COLLECTED_IN_TURN, batch)
                return batch.flows.get(left), batch.flows.get(right)

    def _late(self, source: str, texts: pa.ChunkedArray, watermark: int, batch: BatchContext) -> None:
        stage = self.stage
        if not len(texts):
            return
        if isinstance(stage.late, DropLate):
            record_late_dropped(batch.result.ledger, stage.name, len(texts))
            return
        given = batch.batch.rows[source] if source in batch.sides else batch.flows[source].as_select(self.context.spark)
        origin = self.context.job.stage(source)
        rows = unpack_rows(pa.table({ROW: texts}), given, origin if isinstance(origin, Read) else None)[ROW].to_pylist()
        record_late_dead(batch.result.ledger, stage.name, len(rows))
        statement = stage.name.split("/")[0]
        is_inside = isinstance(stage, WindowJoin) or (isinstance(stage, IntervalJoin) and stage.inside is not None)
        why = None if is_inside else "the row is behind the watermark, and nothing can be joined with it any more"
        for row in rows:
            late = late_for_join(stage, row, watermark)
            batch.result.dead_letters.append(DeadLetter(Fate.LATE, source, statement, row, batch.batch.batch_id, why, late))


def side_steps(stage: StreamJoin) -> Mapping[str, WindowStep]:
    """The steps of the two sides, by the names under which they keep their state."""
    match stage:
        case IntervalJoin():
            return interval_steps(stage)
        case AsofJoin():
            return asof_steps(stage)
        case WindowJoin():
            return window_steps(stage)
        case _:
            assert_never(stage)


def joiner_of(spark: SparkSession, stage: StreamJoin, state: JobState, counters: JobCounters) -> Joiner:
    match stage:
        case IntervalJoin():
            return IntervalJoiner(spark, stage, state, counters)
        case AsofJoin():
            return AsofJoiner(spark, stage, state, counters)
        case WindowJoin():
            return WindowJoiner(spark, stage, state, counters)
        case _:
            assert_never(stage)
