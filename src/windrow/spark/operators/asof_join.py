"""Each row of a stream with the newest earlier row of another one, when the watermark has passed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from windrow.plan.stream_joins import AsofJoin
from windrow.spark.operators.join_sides import JoinResult, JoinSides, SideBatch, as_flow, comparable_keys, key_names, side_names
from windrow.spark.query.flow import Flow
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import JobState
from windrow.windowing.asof import NewestStep, WaitingStep, newest_earlier
from windrow.windowing.columns import TIME
from windrow.windowing.joins import RIGHT_ID
from windrow.windowing.step import BatchTime, WindowStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def asof_steps(stage: AsofJoin) -> dict[str, WindowStep]:
    left, right = side_names(stage)
    keys = key_names(stage)
    return {left: WaitingStep(keys, stage.is_exclusive), right: NewestStep(keys, comparable_keys(stage))}


class AsofJoiner:
    """One batch of one join."""

    def __init__(self, spark: SparkSession, stage: AsofJoin, state: JobState, counters: JobCounters) -> None:
        self._stage = stage
        self._state = state
        self._sides = JoinSides(spark, stage, state, counters)
        self._steps = asof_steps(stage)

    def run(self, left: Flow | pa.Table | None, right: Flow | pa.Table | None, tick: BatchTime) -> JoinResult:
        """Left rows are counted when they are answered: those that wait are still on their way."""
        result = JoinResult()
        asking = self._take(left, 0, tick, result)
        result.taken = result.left_out + sum(map(len, result.late.values()))
        offered = self._take(right, 1, tick, result)
        due = self._sides.step(asking, asking.table, tick, self._steps, result)
        if due is not None and due.height:
            result.flow = self._answered(due, asking, offered, result)
        self._sides.step(offered, offered.table, tick, self._steps, result)
        return result

    def _take(self, flow: Flow | pa.Table | None, index: int, tick: BatchTime, result: JoinResult) -> SideBatch:
        """A row behind the watermark is too late: rows that it should have found, or that should have found it, have gone."""
        side = self._sides.take(flow, index, tick, result)
        if side.new is None or side.texts is None:
            return side
        is_late = side.new.select((pl.col(TIME) < tick.watermark_before).fill_null(False))[TIME]
        if is_late.any():
            result.late[index] = side.texts.filter(is_late.to_arrow())
        return side.without(is_late)

    def _answered(self, due: pl.DataFrame, asking: SideBatch, offered: SideBatch, result: JoinResult) -> Flow | None:
        newest = self._steps[offered.name]
        assert isinstance(newest, NewestStep)
        found_in = newest.candidates(self._state.tables.get(offered.name, {}), offered.new, due)
        pairs = newest_earlier(due, found_in, key_names(self._stage), is_exclusive=self._stage.is_exclusive)
        result.taken += due.height
        if not self._stage.keeps_left:
            found = pairs.filter(pl.col(RIGHT_ID).is_not_null())
            result.left_out += pairs.height - found.height
            pairs = found
        if not pairs.height:
            return None
        offered.everything = found_in
        return as_flow(self._sides.joined(pairs, (asking, offered)))
