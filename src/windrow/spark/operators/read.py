"""The source scan: rows of a batch, judged by the watermark of their source, and counted where no other operator does it on the way."""

from __future__ import annotations

import pyarrow.compute as pc

from windrow.model.fate import Fate
from windrow.plan.physical.strategies import Accounting, Cache
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
        if accounting is Accounting.IN_DRIVER:
            self._take_collected(batch)
            return
        reached: dict[int, int] = {}
        rows = self._judged(batch)
        if rows is not None:
            if self.spec.chosen(Cache) is Cache.BATCH:
                frame = rows.frame.persist()
                batch.cached.append(frame)
                rows = LazyRelation(frame)
            batch.flows[read.name] = Flow(tuple(column.name for column in read.columns), rows=rows)
            if accounting is Accounting.OWN_JOB:
                reached = self.context.ledger.account(read, rows, batch.clocks[read.name], batch.result)
        # Else the operator that does the accounts moves the clock.
        if rows is None or accounting is Accounting.OWN_JOB:
            self.context.marks.advance(read.name, reached, batch)

    def _judged(self, batch: BatchContext) -> LazyRelation | None:
        rows = batch.batch.rows.get(self.name)
        return None if rows is None else self.context.ledger.mark_late_at_source(self.stage, rows, batch.before[self.name], batch.batch.now)

    def _take_collected(self, batch: BatchContext) -> None:
        """A source that a join takes whole: its rows come to the driver, with those of all other such sources at once."""
        self.context.collected.collect(batch)
        reached: dict[int, int] = {}
        if self.name in batch.sides:
            rows, given = batch.sides[self.name], batch.batch.rows[self.name]
            batch.filtered[self.name] = pc.sum(pc.equal(rows[JUDGED], Fate.FILTERED.value)).as_py() or 0
            batch.sides[self.name], reached = self.context.ledger.record_driver_rows(self.stage, rows, given, batch.result)
        self.context.marks.advance(self.name, reached, batch)
