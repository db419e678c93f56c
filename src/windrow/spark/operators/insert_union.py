"""INSERT INTO: a stream that several statements write into."""

from __future__ import annotations

from windrow.plan.physical.strategies import RowHandling
from windrow.plan.stages import InsertUnion
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.base import Operator
from windrow.spark.operators.union import insert_union


class InsertUnionOperator(Operator[InsertUnion]):
    def process(self, batch: BatchContext) -> None:
        if (collected := insert_union(self.context.spark, self.stage, batch.flows)) is not None:
            self.took(RowHandling.UNION, batch)
            batch.flows[self.name] = collected
