"""Several rows of one: what a generator gives, in the order in which it gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.connectors.runtime import SEQ
from windrow.plan.physical.strategies import Accounting, RowHandling
from windrow.plan.stages import Explode
from windrow.spark.compile.expressions import quote, to_sql
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.ledger_writer import record_exploded
from windrow.spark.operators.base import JobContext, Operator
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import strictness
from windrow.spark.row_columns import FATE, PLACE, RAW_TEXT
from windrow.spark.scan.row_order import needs_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Exploded:
    """The rows made, how many there were before, how many of those gave any, and how many they gave."""

    flow: Flow
    rows: int
    gave: int
    given: int


class ExplodeOperator(Operator[Explode]):
    def open(self, context: JobContext) -> None:
        super().open(context)
        self._needs_order = needs_order(context.job)

    def process(self, batch: BatchContext) -> None:
        source = batch.flows.get(self.stage.input)
        if source is None:
            return
        found = explode(self.context.spark, self.stage, source, needs_order=self._needs_order)
        self.took(RowHandling.GENERATE, batch)
        self.took(Accounting.OWN_JOB, batch)
        record_exploded(batch.result.ledger, self.name, found.rows, found.gave, found.given)
        batch.flows[self.name] = found.flow


def explode(spark: SparkSession, stage: Explode, source: Flow, *, needs_order: bool) -> Exploded:
    frame = source.as_frame(spark)
    if FATE in frame.columns:
        frame = frame.where(f"{FATE} = 0").drop(FATE, RAW_TEXT)
    with strictness(frame.sparkSession, stage.is_strict):
        rows, gave, given = _count(frame, stage)
        args = ", ".join(map(to_sql, stage.args))
        name = stage.generator + ("_outer" if stage.is_outer and stage.generator in _HAVE_OUTER else "")
        named = ", ".join(map(quote, stage.columns))
        frame = frame.selectExpr("*", f"{name}({args})" + (f" AS ({named})" if named else ""))
        if needs_order:
            frame = _numbered(frame)
    return Exploded(Flow((*source.columns, *stage.columns), frame), rows, gave, given)


_HAVE_OUTER = ("explode", "posexplode", "inline")


def _numbered(frame: DataFrame) -> DataFrame:
    """Rows of one row share its place in the input: they stand after each other in the order of the generator."""
    frame = frame.selectExpr("*", f"monotonically_increasing_id() AS {PLACE}")
    kept = [quote(name) for name in frame.columns if name not in (SEQ, PLACE)]
    return frame.selectExpr(*kept, f"CAST(row_number() OVER (ORDER BY {SEQ}, {PLACE}) AS BIGINT) AS {SEQ}")


def _count(frame: DataFrame, stage: Explode) -> tuple[int, int, int]:
    """A job of its own, so that no row disappears without being counted."""
    size = f"greatest(coalesce(size({to_sql(stage.args[0])}), 0), {int(stage.is_outer)})"
    if stage.generator not in _HAVE_OUTER:
        size = to_sql(stage.args[0]) if stage.generator == "stack" else "1"
    row = frame.selectExpr("count(1) AS n", f"count_if({size} > 0) AS g", f"sum({size}) AS r").collect()[0]
    return row["n"], row["g"], row["r"] or 0
