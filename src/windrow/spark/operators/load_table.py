"""Reference data: loaded before the first batch and refreshed between batches, never in one."""

from __future__ import annotations

from windrow.plan.physical.strategies import Load
from windrow.plan.stages import LoadTable
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.base import Operator


class LoadTableOperator(Operator[LoadTable]):
    """``windrow.spark.tables`` loads; here a table is only part of the plan: joins and subqueries ask for it as it stands."""

    def process(self, batch: BatchContext) -> None:
        self.took(Load.REFRESHED if self.name in self.context.tables.refreshed else Load.AT_START, batch)
