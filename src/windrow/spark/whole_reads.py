"""Sources that a join takes whole: their rows come to the driver anyway, so they are read once and accounted for there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.runtime import TOPIC_NUMBER
from windrow.plan.stages import IntervalJoin, Job, Read
from windrow.spark.accounting import RIDING, Accountant
from windrow.spark.carrying import ROW, carried_row
from windrow.spark.expressions import quote
from windrow.spark.feeds import JUDGED
from windrow.spark.interval_join import side_frame
from windrow.spark.querying import Select, frame_of_sql
from windrow.spark.reading import FATE
from windrow.windowing.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class WholeReads:
    """``joins`` are the join and the side of it (0: left, 1: right) that alone reads a source."""

    def __init__(self, job: Job, accountant: Accountant) -> None:
        self._reads = {read.name: read for read in job.reads}
        self._accountant = accountant
        self._joins = {read.name: found for read in job.reads if (found := _sole_join(read, job)) is not None}

    def __contains__(self, source: str) -> bool:
        return source in self._joins

    def collect(
        self, given: Mapping[str, Select], clocks: Mapping[str, Clock], judged_by: Callable[[IntervalJoin], int]
    ) -> dict[str, pa.Table]:
        """The rows of such sources, all at the same time: each is often one file, which is work for one core.

        ``judged_by`` gives the watermark by which a join tells that a row is too late.
        """
        from pyspark import inheritable_thread_target

        wanted = {name: self._side(name, rows, clocks[name], judged_by) for name, rows in given.items() if name in self._joins}
        if len(wanted) < 2:
            return {name: frame.toArrow() for name, frame in wanted.items()}
        with ThreadPoolExecutor(len(wanted), "windrow-join") as pool:
            tasks = {name: pool.submit(inheritable_thread_target(frame.sparkSession)(frame.toArrow)) for name, frame in wanted.items()}
            return {name: task.result() for name, task in tasks.items()}

    def _side(self, name: str, rows: Select, clock: Clock, judged_by: Callable[[IntervalJoin], int]) -> DataFrame:
        stage, index = self._joins[name]
        # Which rows keep their text is for the join to say.
        marks = {**self._accountant.marks(self._reads[name], rows.columns, clock), ROW: carried_row(rows.columns, "true")}
        columns = ", ".join(f"{sql} AS {column}" for column, sql in marks.items())
        kept = ", ".join(quote(name) for name in rows.columns if name not in (FATE, TOPIC_NUMBER))
        judged = f"SELECT {kept}, {FATE} AS {JUDGED}, {columns} FROM {rows.source}"
        return side_frame(frame_of_sql(rows.given, judged), stage, index, judged_by(stage), RIDING)


def _sole_join(read: Read, job: Job) -> tuple[IntervalJoin, int] | None:
    """A strict join is not asked of rows that are set aside: what they hold may stop it."""
    readers = job.readers_of(read.name)
    if len(readers) != 1 or not isinstance(join := readers[0], IntervalJoin) or join.is_strict:
        return None
    sides = [side.input for side in (join.left, join.right)]
    return (join, sides.index(read.name)) if sides.count(read.name) == 1 else None
