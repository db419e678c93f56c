"""Sources that a join takes whole: their rows come to the driver anyway, so they are read once and accounted for there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from windrow.connectors.runtime import TOPIC_NUMBER
from windrow.plan.physical import PhysicalPlan
from windrow.plan.stages import Job, StreamJoin
from windrow.spark.compile.expressions import quote
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.ledger_writer import LedgerWriter
from windrow.spark.execution.watermarks import Watermarks
from windrow.spark.operators.join_sides import side_frame
from windrow.spark.query.runner import LazyRelation, frame_of_sql
from windrow.spark.row_columns import FATE, JUDGED, RIDING, ROW
from windrow.spark.scan.diverted_rows import diverted_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class CollectedScans:
    """Those that the plan has counted in the driver."""

    def __init__(self, job: Job, ledger: LedgerWriter, watermarks: Watermarks) -> None:
        self._reads = {read.name: read for read in job.reads}
        self._ledger = ledger
        self._watermarks = watermarks

    def collect(self, plan: PhysicalPlan, batch: BatchContext) -> None:
        """The rows of all such sources, at the same time and once a batch: each is often one file, which is work for one core."""
        from pyspark import inheritable_thread_target

        if batch.are_sides_collected:
            return
        batch.are_sides_collected = True
        joins = plan.collected
        wanted = {name: self._side(name, *joins[name], rows, batch) for name, rows in batch.batch.rows.items() if name in joins}
        if len(wanted) < 2:
            batch.sides.update({name: frame.toArrow() for name, frame in wanted.items()})
            return
        with ThreadPoolExecutor(len(wanted), "windrow-join") as pool:
            tasks = {name: pool.submit(inheritable_thread_target(frame.sparkSession)(frame.toArrow)) for name, frame in wanted.items()}
            batch.sides.update({name: task.result() for name, task in tasks.items()})

    def _side(self, name: str, stage: StreamJoin, index: int, given: LazyRelation, batch: BatchContext) -> DataFrame:
        read, clock = self._reads[name], batch.before[name]
        rows = self._ledger.mark_late_at_source(read, given, clock, batch.batch.now)
        # Which rows keep their text is for the join to say.
        accounts = {**self._ledger.account_columns(read, rows.columns, clock), ROW: diverted_row(rows.columns, "true")}
        columns = ", ".join(f"{sql} AS {column}" for column, sql in accounts.items())
        kept = ", ".join(quote(name) for name in rows.columns if name not in (FATE, TOPIC_NUMBER))
        judged = f"SELECT {kept}, {FATE} AS {JUDGED}, {columns} FROM {rows.source}"
        return side_frame(frame_of_sql(rows.given, judged), stage, index, self._watermarks.of_join(stage, batch).watermark_before, RIDING)
