"""Two streams joined inside windows: each window as a whole, in the batch in which it closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from windrow.model.lateness import over_at
from windrow.plan.stream_joins import PAIR_START, WindowJoin
from windrow.spark.operators.emissions import UTC_MICROS
from windrow.spark.operators.join_lateness import windows_of
from windrow.spark.operators.join_sides import JoinResult, JoinSides, SideBatch, as_flow, comparable_keys, key_names, side_names
from windrow.spark.query.flow import Flow
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import JobState
from windrow.windowing.columns import EMISSION, END, FINAL, REVISION, START, TIME
from windrow.windowing.joins import ID, LEFT_ID, RIGHT_ID, alike
from windrow.windowing.step import BatchTime, WindowStep
from windrow.windowing.window_joins import SIDE, FixedWindows, SessionWindows, WindowSideStep, pairs_in_windows, unpaired

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IDS = (LEFT_ID, RIGHT_ID)


def window_steps(stage: WindowJoin) -> dict[str, WindowStep]:
    windows = windows_of(stage)
    until = windows.until if isinstance(windows, FixedWindows) else None
    return {name: WindowSideStep(key_names(stage), until) for name in side_names(stage)}


class WindowJoiner:
    """One batch of one join."""

    def __init__(self, spark: SparkSession, stage: WindowJoin, state: JobState, counters: JobCounters) -> None:
        self._stage = stage
        self._sides = JoinSides(spark, stage, state, counters)
        self._steps = window_steps(stage)
        self._windows = windows_of(stage)

    def run(self, left: Flow | pa.Table | None, right: Flow | pa.Table | None, tick: BatchTime) -> JoinResult:
        result = JoinResult()
        taken = self._sides.take(left, 0, tick, result), self._sides.take(right, 1, tick, result)
        if taken[0].everything is None and taken[1].everything is None:
            return result
        if isinstance(self._windows, FixedWindows):
            sides = self._in_time(taken[0], 0, tick, result), self._in_time(taken[1], 1, tick, result)
            closing = self._closing(sides[0], tick), self._closing(sides[1], tick)
            gone: tuple[list[int], list[int]] = ([], [])
        else:
            sides, closing = self._sessions(taken, self._windows, tick, result)
            gone = closing[0][ID].to_list(), closing[1][ID].to_list()
        result.flow = self._output(sides, closing)
        for side, signals in zip(sides, gone, strict=True):
            self._sides.step(side, side.with_signals(signals, self._sides.schema_of(side), matched=False), tick, self._steps, result)
        return result

    def _in_time(self, side: SideBatch, index: int, tick: BatchTime, result: JoinResult) -> SideBatch:
        """Rows whose windows have all closed are set aside."""
        assert isinstance(self._windows, FixedWindows)
        if side.new is None:
            return side
        return self._set_aside(side, index, side.new.select(self._windows.until.of(pl.col(TIME)) <= tick.watermark_before)[TIME], result)

    def _set_aside(self, side: SideBatch, index: int, is_late: pl.Series, result: JoinResult) -> SideBatch:
        if side.texts is None or not is_late.any():
            return side
        result.late[index] = side.texts.filter(is_late.to_arrow())
        return side.without(is_late)

    def _closing(self, side: SideBatch, tick: BatchTime) -> pl.DataFrame:
        assert isinstance(self._windows, FixedWindows)
        return self._windows.closing(self._placed(side), tick)

    def _placed(self, side: SideBatch) -> pl.DataFrame:
        """Number, keys and time of every row of a side."""
        if side.everything is None:
            keys = {name: pl.Null() for name in key_names(self._stage)}
            return pl.DataFrame(schema={ID: pl.Int64(), **keys, TIME: pl.Int64()})
        return side.everything.select(ID, *key_names(self._stage), TIME)

    def _sessions(
        self, sides: tuple[SideBatch, SideBatch], windows: SessionWindows, tick: BatchTime, result: JoinResult
    ) -> tuple[tuple[SideBatch, SideBatch], tuple[pl.DataFrame, pl.DataFrame]]:
        """Sides without rows that no open session takes, and the rows of sessions that close."""
        keys = key_names(self._stage)
        placed = alike(self._placed(sides[0]), self._placed(sides[1]), keys)
        both = pl.concat([rows.with_columns(pl.lit(index).alias(SIDE)) for index, rows in enumerate(placed)], how="vertical_relaxed")
        found = windows.sessions(both, keys).with_columns(over_at(pl.col(END), windows.lateness).alias("_closes"))
        own = [found.filter(pl.col(SIDE) == index).drop(SIDE) for index in (0, 1)]
        kept = []
        for index, side in enumerate(sides):
            if side.new is not None:
                # A session that was over before this batch can only be one of rows that have come now.
                over = own[index].filter(pl.col("_closes") <= tick.watermark_before)[ID]
                side = self._set_aside(side, index, side.new[ID].is_in(over.implode()), result)
            kept.append(side)
        due = [
            rows.filter((pl.col("_closes") <= tick.watermark_after) & (pl.col("_closes") > tick.watermark_before)).drop("_closes")
            for rows in own
        ]
        return (kept[0], kept[1]), (due[0], due[1])

    def _output(self, sides: tuple[SideBatch, SideBatch], closing: tuple[pl.DataFrame, pl.DataFrame]) -> Flow | None:
        """Window by window: pairs in the order of time, then what met nothing, left before right."""
        stage = self._stage
        pairs = pairs_in_windows(*closing, key_names(stage), comparable_keys(stage))
        if pairs.height and stage.residual is not None:
            pairs = self._sides.that_hold(pairs, sides, stage.residual)
        alone = [
            unpaired(rows, pairs, column)
            for rows, column, keeps in zip(closing, _IDS, (stage.keeps_left, stage.keeps_right), strict=True)
            if keeps
        ]
        everything = pl.concat([pairs, *alone], how="diagonal").sort(END, START, maintain_order=True)
        if not everything.height:
            return None
        return as_flow(self._with_bounds(self._sides.joined(everything, sides), everything))

    def _with_bounds(self, table: pa.Table, rows: pl.DataFrame) -> pa.Table:
        """The bounds of its window as columns of each row, whose event time is the last instant of the window."""
        start, end = (rows[name].to_arrow().cast(UTC_MICROS) for name in (START, END))
        columns = {name: table[name] for name in table.column_names if name not in (START, END, EMISSION, REVISION)}
        columns["_event_time"] = rows.select(self._stage.window.last_instant(pl.col(END)))[END].to_arrow().cast(UTC_MICROS)
        count = rows.height
        columns |= {START: start, END: end, EMISSION: pa.repeat(FINAL, count), REVISION: pa.repeat(pa.scalar(1, pa.int32()), count)}
        return pa.table({**columns, PAIR_START: start})
