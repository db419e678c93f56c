"""UNION ALL: the rows of several statements as one flow."""

from __future__ import annotations

from windrow.plan.physical.strategies import RowHandling
from windrow.plan.stages import UnionAll
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.base import Operator
from windrow.spark.operators.union import union_all


class UnionAllOperator(Operator[UnionAll]):
    def process(self, batch: BatchContext) -> None:
        if (merged := union_all(self.context.spark, self.stage, batch.flows)) is not None:
            self.took(RowHandling.UNION, batch)
            batch.flows[self.name] = merged
