"""Two streams paired in a batch: new rows meet what is held and each other; what found no partner comes out when none can come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.plan.stages import IntervalJoin
from windrow.spark.operators.join_lateness import is_judged_first, until_of
from windrow.spark.operators.join_sides import JoinResult, JoinSides, SideBatch, as_flow, comparable_keys, key_names, side_names
from windrow.spark.query.flow import Flow
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import JobState
from windrow.windowing.columns import TIME
from windrow.windowing.joins import ID, LEFT_ID, MATCHED, RIGHT_ID, SideStep, Span, Until, find_pairs
from windrow.windowing.step import BatchTime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def interval_steps(stage: IntervalJoin) -> dict[str, SideStep]:
    left, right = side_names(stage)
    keys, comparable = key_names(stage), comparable_keys(stage)
    return {
        left: SideStep(keys, until_of(stage, 0), stage.keeps_left, comparable),
        right: SideStep(keys, until_of(stage, 1), stage.keeps_right, comparable),
    }


class IntervalJoiner:
    """One batch of one join."""

    def __init__(self, spark: SparkSession, stage: IntervalJoin, state: JobState, counters: JobCounters) -> None:
        self._stage = stage
        self._sides = JoinSides(spark, stage, state, counters)
        self._steps = interval_steps(stage)

    def run(self, left: Flow | pa.Table | None, right: Flow | pa.Table | None, tick: BatchTime) -> JoinResult:
        """A side is the rows of the stage before it, or what ``side_frame`` gave."""
        stage = self._stage
        result = JoinResult()
        sides = self._take(left, 0, tick, result), self._take(right, 1, tick, result)
        span = Span(stage.low, stage.high)
        pairs = find_pairs((sides[0].held, sides[0].new), (sides[1].held, sides[1].new), key_names(stage), span, comparable_keys(stage))
        if pairs.height and stage.residual is not None:
            pairs = self._sides.that_hold(pairs, sides, stage.residual)
        gone: list[pl.DataFrame | None] = []
        for index, ids in enumerate((pairs[LEFT_ID], pairs[RIGHT_ID])):
            gone.append(self._step(sides[index], index, ids, tick, result))
        result.flow = self._output(pairs, sides, gone)
        return result

    def _take(self, flow: Flow | pa.Table | None, index: int, tick: BatchTime, result: JoinResult) -> SideBatch:
        """Rows whose windows have all closed are set aside before they can meet one that is still there."""
        side = self._sides.take(flow, index, tick, result)
        if side.new is None or side.texts is None or not is_judged_first(self._stage):
            return side
        is_late = side.new.select((until_of(self._stage, index).of(pl.col(TIME)) <= tick.watermark_before).fill_null(False))[TIME]
        if is_late.any():
            result.late[index] = side.texts.filter(is_late.to_arrow())
        return side.without(is_late)

    def _step(self, side: SideBatch, index: int, ids: pl.Series, tick: BatchTime, result: JoinResult) -> pl.DataFrame | None:
        """Move a side's state on; gives the rows that leave it without ever having been paired."""
        step = self._steps[side.name]
        rows = _step_rows(side, set(ids.to_list()), self._sides.schema_of(side)) if step.keeps else side.table
        gone = self._sides.step(side, rows, tick, self._steps, result)
        if not step.keeps and side.new is not None and side.texts is not None and not is_judged_first(self._stage):
            result.late[index] = side.texts.filter(_is_late(side.new, ids, step.until, tick).to_arrow())
        return gone

    def _output(self, pairs: pl.DataFrame, sides: tuple[SideBatch, SideBatch], gone: list[pl.DataFrame | None]) -> Flow | None:
        """Pairs in the order of time, then what leaves unpaired: left before right."""
        alone = [_unpaired(frame, column) for frame, column in zip(gone, (LEFT_ID, RIGHT_ID), strict=True) if frame is not None]
        everything = pl.concat([pairs, *alone], how="diagonal") if alone else pairs
        return as_flow(self._sides.joined(everything, sides)) if everything.height else None


def _step_rows(side: SideBatch, paired: set[int], schema: pa.Schema | None) -> pa.Table | None:
    """What the step is given: the new rows, and a mark for each held row that is paired now."""
    if side.table is not None:
        flags = pc.is_in(side.table[ID], pa.array(sorted(paired), pa.int64()))
        side.table = side.table.set_column(side.table.column_names.index(MATCHED), MATCHED, flags)
    signals: list[int] = []
    if side.held is not None and paired:
        signals = side.held.filter(pl.col(ID).is_in(list(paired)) & ~pl.col(MATCHED))[ID].to_list()
    return side.with_signals(signals, schema, matched=True)


def _is_late(new: pl.DataFrame, paired: pl.Series, until: Until, tick: BatchTime) -> pl.Series:
    """Rows behind the watermark that met nothing and for which nothing can come any more."""
    is_behind = (pl.col(TIME) < tick.watermark_before) & (until.of(pl.col(TIME)) <= tick.watermark_after)
    return new.select((is_behind & ~pl.col(ID).is_in(paired.implode())).fill_null(False).alias("late"))["late"]


def _unpaired(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    return rows.select(pl.col(ID).alias(column))
