"""The stream of rows that came too late for the windows of another statement."""

from __future__ import annotations

from windrow.plan.physical.strategies import RowHandling
from windrow.plan.stages import LateRows
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.base import Operator


class LateRowsOperator(Operator[LateRows]):
    def process(self, batch: BatchContext) -> None:
        if self.stage.of in batch.late:
            self.took(RowHandling.PASS_ON, batch)
            batch.flows[self.name] = batch.late[self.stage.of]
