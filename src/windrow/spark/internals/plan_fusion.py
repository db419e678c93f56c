"""What makes the rows of a micro-batch, so that a query can go on from there.

Spark hands a micro-batch over as finished rows: every column of every row is computed and copied before anything is asked of it. But the
plan that makes them is still there, and a query that is put right on top of it is compiled into one piece with it, as if it had been
part of the streaming query: a column that nobody asks for is not looked at, and no row is copied in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windrow.spark.internals import generated_code, running_queries
from windrow.spark.internals.generated_code import longest_method
from windrow.spark.internals.jvm import jvm_of, kind_of, need_constructor, need_methods
from windrow.spark.internals.running_queries import RunningQueries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COMPILED = "WholeStageCodegenExec"
# What is not compiled hands rows on to what is.
_BETWEEN = "InputAdapter"
# Unless it is told to, Java does not compile longer methods to machine code, and they cost more by far than a copy of each row.
_LONGEST_METHOD = 8000


def probe(spark: SparkSession) -> None:
    running_queries.probe(spark)
    generated_code.probe(spark)
    jvm = jvm_of(spark)
    alias = ("Expression", "String", "ExprId", "Seq", "Option", "Seq")
    need_constructor(jvm, "org.apache.spark.sql.catalyst.expressions.Alias", *alias)
    need_constructor(jvm, "org.apache.spark.sql.execution.ProjectExec", "Seq", "SparkPlan")
    need_methods(jvm, "org.apache.spark.sql.execution.ProjectExec", rewriteAttrs=1, output=0, withNewChildren=1)
    need_methods(jvm, "org.apache.spark.sql.catalyst.expressions.AttributeMap$", apply=1)


class PlanFusion:
    """``above`` are the operators of a query from the first to the last, ``leaf`` is what reads finished rows for the first.

    ``none`` is Spark's empty list.
    """

    def __init__(self, frame: DataFrame, above: Sequence[Any], leaf: Any, none: Any) -> None:
        self._jvm = jvm_of(frame)
        self._leaf, self._none = leaf, none
        self._columns = leaf.output()
        self._running = RunningQueries(frame.sparkSession)
        names = [kind_of(operator) for operator in above]
        end = next((place for place, name in enumerate(names) if name in (_COMPILED, _BETWEEN)), None)
        self._compiled = above[: end + 1] if end is not None and names[end] == _COMPILED else ()
        self._attributes = getattr(getattr(self._jvm.org.apache.spark.sql.catalyst.expressions, "AttributeMap$"), "MODULE$")
        self._renaming: Any = None
        self._is_short: bool | None = None

    def of(self, given: DataFrame, rows: Any) -> Any | None:
        """A plan that makes the same rows. None where none can be put beneath the query: ``rows`` will do as they are."""
        if not self._compiled or self._is_short is False:
            return None
        whole = self._running.plan_of(given, rows)
        if whole is None or kind_of(whole) != _COMPILED:
            return None
        plan = whole.children().head()
        if self._renaming is None:
            self._renaming = self._renamed()
        # Each batch has its own numbers for the columns, in the same places.
        numbers = self._attributes.apply(self._columns.zip(plan.output()))
        named = over(self._renaming.rewriteAttrs(numbers), plan, self._none)
        if self._is_short is None:
            self._is_short = self._longest_method(named) <= _LONGEST_METHOD
        return named if self._is_short else None

    def _renamed(self) -> Any:
        """Gives columns the numbers by which the query knows them."""
        items = self._none
        for place in range(self._columns.size()):
            column = self._columns.apply(place)
            items = items.appended(
                self._jvm.org.apache.spark.sql.catalyst.expressions.Alias(
                    column, column.name(), column.exprId(), column.qualifier(), self._jvm.scala.Option.empty(), self._none
                )
            )
        return self._jvm.org.apache.spark.sql.execution.ProjectExec(items, self._leaf)

    def _longest_method(self, plan: Any) -> int:
        for operator in self._compiled:
            plan = over(operator, plan, self._none)
        return longest_method(self._jvm, plan)


def over(operator: Any, child: Any, none: Any) -> Any:
    """An operator with another child. None of ours has more than one."""
    return operator.withNewChildren(none.appended(child))
