"""Tables that queries make: the latest row per key, as state of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from windrow.connectors.runtime import SEQ
from windrow.plan.physical.strategies import RowHandling
from windrow.plan.stages import UpsertTable
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.measurements import Phase
from windrow.spark.operators.base import Operator
from windrow.spark.query.flow import Flow
from windrow.spark.tables.reference_tables import empty_table
from windrow.windowing.step import Tables
from windrow.windowing.upsert import LATEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class UpsertTableOperator(Operator[UpsertTable]):
    phase = Phase.STEP

    def process(self, batch: BatchContext) -> None:
        stage, source = self.stage, batch.flows.get(self.stage.input)
        rows = None if source is None else changes_in_order(source, self.context.spark)
        if source is not None:
            self.took(RowHandling.LATEST, batch)
            batch.flows[stage.name] = Flow(source.columns, table=rows)
        if rows is not None or stage.ttl is not None:
            self.keep(rows, batch)


def changes_in_order(source: Flow, spark: SparkSession) -> pa.Table:
    """The rows that change a table in this batch, the newest last."""
    table = source.as_table(spark)
    return table.sort_by(SEQ) if SEQ in table.column_names else table


def table_frame(spark: SparkSession, stage: UpsertTable, held: Tables, schema: pa.Schema | None) -> DataFrame:
    """The table as it stands."""
    rows = held.get(LATEST)
    if rows is None or schema is None:
        return empty_table(spark, stage.columns)
    return spark.createDataFrame(typed(rows, schema)).coalesce(1)


def typed(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """With the types that Spark gave the columns: Polars has fewer."""
    table = rows.select([name for name in rows.columns if name in schema.names]).to_arrow()
    return table.cast(pa.schema([schema.field(name) for name in table.column_names]))
