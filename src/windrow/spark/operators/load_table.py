"""Reference data: loaded before the first batch and refreshed between batches, never in one."""

from __future__ import annotations

from windrow.plan.stages import LoadTable
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.base import Operator


class LoadTableOperator(Operator[LoadTable]):
    """``windrow.spark.tables`` loads; here a table is only part of the plan."""

    def process(self, batch: BatchContext) -> None:
        """Nothing: joins and subqueries ask for the table as it stands."""
