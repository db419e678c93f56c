"""The rows of one stage in one batch, on their way to the next: on the executors or in the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.runtime import Books

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Flow:
    """``columns`` are the visible ones; the rows have system columns beside them. Exactly one of frame and table is there.

    With ``books``, the frame has also rows that are only to be counted.
    """

    columns: tuple[str, ...]
    frame: DataFrame | None = None
    table: pa.Table | None = None
    books: Books | None = None

    def as_frame(self, spark: SparkSession) -> DataFrame:
        if self.frame is None:
            assert self.table is not None
            # One partition: small tables need no exchange to be grouped.
            self.frame = spark.createDataFrame(self.table).coalesce(1)
        return self.frame
