"""Subqueries over tables, answered in columns of their own before anything is filtered or grouped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.model.expr import Exists, InQuery, Node, ScalarQuery, Slot, transform
from windrow.model.query import NamedSource
from windrow.plan.physical.strategies import Lookup
from windrow.plan.stages import SubqueryLookup, TableSubquery
from windrow.spark.compile.expressions import quote, to_sql
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.base import Operator
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import strictness
from windrow.spark.row_columns import FATE, RAW_TEXT
from windrow.spark.tables.reference_tables import ReferenceTables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SubqueryLookupOperator(Operator[SubqueryLookup]):
    def process(self, batch: BatchContext) -> None:
        if self.stage.input in batch.flows:
            self.took(Lookup.SUBQUERY, batch)
            source = batch.flows[self.stage.input]
            batch.flows[self.name] = look_up_subqueries(self.context.spark, self.stage, source, self.context.tables)


def look_up_subqueries(spark: SparkSession, stage: SubqueryLookup, source: Flow, tables: ReferenceTables) -> Flow:
    frame = source.as_frame(spark)
    if FATE in frame.columns:
        frame = frame.where(f"{FATE} = 0").drop(FATE, RAW_TEXT)
    with strictness(frame.sparkSession, stage.is_strict):
        return Flow(source.columns, with_subquery_values(frame, stage.subqueries, tables))


def with_subquery_values(frame: DataFrame, subqueries: tuple[TableSubquery, ...], tables: ReferenceTables) -> DataFrame:
    """The rows with the answer to each question in its slot. What a row tells is a column first: a table may have its names too."""
    for each in subqueries:
        told = [f"{each.slot}p{i}" for i in range(len(each.asked.args))]
        columns = [quote(name) for name in frame.columns]
        frame = frame.selectExpr("*", *(f"{to_sql(arg)} AS {name}" for arg, name in zip(each.asked.args, told, strict=True)))
        frame = frame.selectExpr(*columns, f"{to_sql(_named(each, told, tables))} AS {each.slot}")
    return frame


def _named(subquery: TableSubquery, told: list[str], tables: ReferenceTables) -> InQuery | Exists | ScalarQuery:
    """The subquery with the columns that hold what it is told, and the views that hold its tables."""
    parameters = {f"_p{i}": Slot(name) for i, name in enumerate(told)}

    def change(node: Node) -> Node | None:
        match node:
            case Slot(name=name):
                return parameters.get(name)
            case NamedSource(name=name, alias=alias):
                return NamedSource(tables.view(name), alias)
            case _:
                return None

    return transform(subquery.asked.question.subquery, change)
