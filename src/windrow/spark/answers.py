"""Subqueries over tables, answered in columns of their own before anything is filtered or grouped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.model.expr import Exists, InQuery, Node, ScalarQuery, Slot, transform
from windrow.model.query import NamedSource
from windrow.plan.stages import Answer, Consult
from windrow.spark.expressions import quote, to_sql
from windrow.spark.flow import Flow
from windrow.spark.querying import strictness
from windrow.spark.reading import FATE, RAW_TEXT
from windrow.spark.tables import ReferenceTables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def answer(spark: SparkSession, stage: Answer, source: Flow, tables: ReferenceTables) -> Flow:
    frame = source.as_frame(spark)
    if FATE in frame.columns:
        frame = frame.where(f"{FATE} = 0").drop(FATE, RAW_TEXT)
    with strictness(frame.sparkSession, stage.is_strict):
        return Flow(source.columns, consult(frame, stage.consults, tables))


def consult(frame: DataFrame, consults: tuple[Consult, ...], tables: ReferenceTables) -> DataFrame:
    """The rows with the answer to each question in its slot. What a row tells is a column first: a table may have its names too."""
    for each in consults:
        told = [f"{each.slot}p{i}" for i in range(len(each.asked.args))]
        columns = [quote(name) for name in frame.columns]
        frame = frame.selectExpr("*", *(f"{to_sql(arg)} AS {name}" for arg, name in zip(each.asked.args, told, strict=True)))
        frame = frame.selectExpr(*columns, f"{to_sql(_named(each, told, tables))} AS {each.slot}")
    return frame


def _named(consult: Consult, told: list[str], tables: ReferenceTables) -> InQuery | Exists | ScalarQuery:
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

    return transform(consult.asked.question.subquery, change)
