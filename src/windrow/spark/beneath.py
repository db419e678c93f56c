"""What makes the rows of a micro-batch, so that a query can go on from there.

Spark hands a micro-batch over as finished rows: every column of every row is computed and copied before anything is asked of it. But the
plan that makes them is still there, and a query that is put right on top of it is compiled into one piece with it, as if it had been
part of the streaming query: a column that nobody asks for is not looked at, and no row is copied in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windrow.spark.jvm import jvm_of, kind_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_QUERY_ID = "sql.streaming.queryId"
_COMPILED = "WholeStageCodegenExec"
# What is not compiled hands rows on to what is.
_BETWEEN = "InputAdapter"
# Unless it is told to, Java does not compile longer methods to machine code, and they cost more by far than a copy of each row.
_LONGEST_METHOD = 8000


class Beneath:
    """``above`` are the operators of a query from the first to the last, ``leaf`` is what reads finished rows for the first.

    ``none`` is Spark's empty list.
    """

    def __init__(self, frame: DataFrame, above: Sequence[Any], leaf: Any, none: Any) -> None:
        self._jvm = jvm_of(frame)
        self._leaf, self._none = leaf, none
        self._columns = leaf.output()
        self._running = frame.sparkSession._jsparkSession.sharedState().activeStreamingQueries()
        names = [kind_of(operator) for operator in above]
        end = next((place for place, name in enumerate(names) if name in (_COMPILED, _BETWEEN)), None)
        self._compiled = above[: end + 1] if end is not None and names[end] == _COMPILED else ()
        self._attributes = getattr(getattr(self._jvm.org.apache.spark.sql.catalyst.expressions, "AttributeMap$"), "MODULE$")
        self._renaming: Any = None
        self._query: tuple[str, Any] | None = None
        self._is_short: bool | None = None

    def of(self, given: DataFrame, rows: Any) -> Any | None:
        """A plan that makes the same rows. None where none can be put beneath the query: ``rows`` will do as they are."""
        if not self._compiled or self._is_short is False:
            return None
        plan = self._plan_of(given, rows)
        if plan is None:
            return None
        if self._renaming is None:
            self._renaming = self._renamed()
        # Each batch has its own numbers for the columns, in the same places.
        numbers = self._attributes.apply(self._columns.zip(plan.output()))
        named = over(self._renaming.rewriteAttrs(numbers), plan, self._none)
        if self._is_short is None:
            self._is_short = self._longest_method(named) <= _LONGEST_METHOD
        return named if self._is_short else None

    def _plan_of(self, given: DataFrame, rows: Any) -> Any | None:
        """Found by the streaming query that calls from this thread, if these are the rows that it handed over."""
        query_id = given.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        if query_id is None:
            return None
        if self._query is None or self._query[0] != query_id:
            self._query = query_id, self._jvm.java.util.UUID.fromString(query_id)
        # Not kept: it holds the plans of its batches.
        stream = self._running.get(self._query[1])
        execution = None if stream is None else stream.lastExecution()
        if execution is None or execution.toRdd().id() != rows.id():
            return None
        plan = execution.executedPlan()
        return plan.children().head() if kind_of(plan) == _COMPILED else None

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
        compiled = self._jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator.compile(plan.doCodeGen()._2())
        return int(compiled._2().maxMethodCodeSize())


def over(operator: Any, child: Any, none: Any) -> Any:
    """An operator with another child. None of ours has more than one."""
    return operator.withNewChildren(none.appended(child))
