"""The source scan: rows of a batch, judged by the watermark of their source, and counted where no other operator does it on the way."""

from __future__ import annotations

import pyarrow.compute as pc

from windrow.model.fate import Fate
from windrow.plan.physical.strategies import Accounting, Cache, Scan
from windrow.plan.stages import Read
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.measurements import Phase
from windrow.spark.operators.base import Operator
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import LazyRelation
from windrow.spark.row_columns import JUDGED


class ReadOperator(Operator[Read]):
    """Spark reads nothing before somebody asks for rows, so these are read by whoever counts or uses them first."""

    phase = Phase.READ

    def process(self, batch: BatchContext) -> None:
        read, accounting = self.stage, self.spec.chosen(Accounting)
        if self.name in batch.batch.rows:
            self._tell_scan(batch)
        if accounting is Accounting.IN_DRIVER:
            self._take_collected(batch)
            return
        greatest: dict[int, int] = {}
        rows = self._judged(batch)
        if rows is not None:
            if self.spec.chosen(Cache) is Cache.BATCH:
                rows = self._cached(rows, batch)
            else:
                self.took(Cache.NONE, batch)
            batch.flows[read.name] = Flow(tuple(column.name for column in read.columns), rows=rows)
            if accounting is Accounting.OWN_JOB:
                self.took(Accounting.OWN_JOB, batch)
                greatest = self.context.ledger.account(read, rows, batch.clocks[read.name], batch.result)
        # Else the operator that does the accounts moves the clock.
        if rows is None or accounting is Accounting.OWN_JOB:
            self.context.watermarks.advance(read.name, greatest, batch)

    def _tell_scan(self, batch: BatchContext) -> None:
        """Who has another way to these rows tells which one it was."""
        scan = batch.batch.rows[self.name].scan
        if scan is not None and self.spec.chosen(Scan) is not Scan.JSON_FILES:
            self.took(scan, batch)

    def _cached(self, rows: LazyRelation, batch: BatchContext) -> LazyRelation:
        self.took(Cache.BATCH, batch)
        frame = rows.frame.persist()
        batch.cached.append(frame)
        return LazyRelation(frame)

    def _judged(self, batch: BatchContext) -> LazyRelation | None:
        rows = batch.batch.rows.get(self.name)
        return None if rows is None else self.context.ledger.mark_late_at_source(self.stage, rows, batch.before[self.name], batch.batch.now)

    def _take_collected(self, batch: BatchContext) -> None:
        """A source that a join takes whole: its rows come to the driver, with those of all other such sources at once."""
        self.context.collected.collect(self.context.plan, batch)
        greatest: dict[int, int] = {}
        if self.name in batch.sides:
            self.took(Accounting.IN_DRIVER, batch)
            self.took(Cache.NONE, batch)
            rows, given = batch.sides[self.name], batch.batch.rows[self.name]
            batch.filtered[self.name] = pc.sum(pc.equal(rows[JUDGED], Fate.FILTERED.value)).as_py() or 0
            batch.sides[self.name], greatest = self.context.ledger.record_driver_rows(self.stage, rows, given, batch.result)
        self.context.watermarks.advance(self.name, greatest, batch)
