"""The rows of one stage in one batch, on their way to the next: on the executors or in the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.runtime import SEQ, RowCounter
from windrow.spark.query.runner import LazyRelation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Flow:
    """``columns`` are the visible ones; the rows have system columns beside them. One of frame, table and rows is there from the start.

    With ``row_counter``, the frame has also rows that are only to be counted.
    """

    columns: tuple[str, ...]
    frame: DataFrame | None = None
    table: pa.Table | None = None
    rows: LazyRelation | None = None
    row_counter: RowCounter | None = None

    def as_frame(self, spark: SparkSession) -> DataFrame:
        if self.frame is None and self.rows is not None:
            self.frame = self.rows.frame
        if self.frame is None:
            assert self.table is not None
            # One partition: small tables need no exchange to be grouped.
            self.frame = spark.createDataFrame(self.table).coalesce(1)
        return self.frame

    def as_table(self, spark: SparkSession) -> pa.Table:
        """In the driver, in the order of the input where that is known."""
        if self.table is not None:
            return self.table
        table = self.as_frame(spark).toArrow()
        return table.sort_by(SEQ) if SEQ in table.column_names else table

    def as_select(self, spark: SparkSession) -> LazyRelation:
        return self.rows if self.rows is not None else LazyRelation(self.as_frame(spark))
