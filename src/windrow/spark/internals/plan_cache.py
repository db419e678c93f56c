"""A query that Spark planned once, run on the rows of one batch after the other.

Spark parses, analyses, optimises and plans the query of a micro-batch anew each time, which takes longer than the rows of a small
batch do. The query of a stage is always the same: only its rows differ, and the constants that ``of_batch`` marks. So its physical
plan is kept, and a batch gets a copy in which the rows are its own. What it cannot be sure of is left to Spark's usual way: plans
of other operators than those named here, values that differ from run to run, a query that lost one of its constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from windrow.spark.internals.arrow_collect import collect_plan
from windrow.spark.internals.arrow_types import arrow_schema
from windrow.spark.internals.batch_constants import filled
from windrow.spark.internals.jvm import jvm_of, kind_of, need_constructor, need_methods
from windrow.spark.internals.plan_fusion import PlanFusion, over

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIRST_MARK = 6_148_914_691_236_517_205
_BETWEEN = "\x00,\x00"
# Operators that are a function of their rows and expressions alone, each with one input.
_KNOWN = {
    "WholeStageCodegenExec",
    "InputAdapter",
    "HashAggregateExec",
    "ObjectHashAggregateExec",
    "SortAggregateExec",
    "ShuffleExchangeExec",
    "ProjectExec",
    "FilterExec",
    "SortExec",
    "WindowExec",
    "GenerateExec",
    "ArrowEvalPythonExec",
}
_AGGREGATES = {"HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec"}
_BETWEEN_AGGREGATES = {"WholeStageCodegenExec", "InputAdapter", "SortExec"}


class Collected(NamedTuple):
    """The rows of a query. ``is_merged``: what different tasks have of a group was brought together."""

    table: pa.Table
    is_merged: bool = True


def probe(spark: SparkSession) -> None:
    jvm = jvm_of(spark)
    scan = ("Seq", "RDD", "String", "Partitioning", "Seq", "Option")
    need_constructor(jvm, "org.apache.spark.sql.execution.RDDScanExec", *scan)
    need_methods(jvm, "org.apache.spark.sql.execution.LogicalRDD", rdd=0, outputPartitioning=0, outputOrdering=0, schema=0)
    need_methods(jvm, "org.apache.spark.sql.execution.SparkPlan", withNewChildren=1, children=0, expressions=0, containsPattern=1)
    need_methods(jvm, "org.apache.spark.sql.catalyst.trees.TreePattern", CURRENT_LIKE=0, EXPRESSION_WITH_RANDOM_SEED=0, PLAN_EXPRESSION=0)
    need_methods(jvm, "org.apache.spark.sql.catalyst.util.ArrayData", setLong=2)


@dataclass(frozen=True)
class CachedPlan:
    """``above`` are the operators from the first to the last, ``shape`` is that of the rows, ``leaf_of`` makes what reads them.

    ``fusion`` finds a plan that can run below the query instead of finished rows.

    ``slots`` hold the constants of the batch: arrays of one number, one or more for each constant. ``no_children`` is Spark's empty list.
    ``exchange`` is the place among the operators of the one that brings together what tasks have of the same groups, if it is the only one.
    """

    frame: DataFrame
    schema: pa.Schema
    above: tuple[Any, ...]
    leaf_of: Callable[[Any], Any]
    fusion: PlanFusion
    no_children: Any
    shape: str
    slots: tuple[tuple[Any, ...], ...]
    exchange: int | None

    def fits(self, given: DataFrame) -> bool:
        """Whether these are rows such as the plan was made for."""
        plan = given._jdf.logicalPlan()
        return kind_of(plan) == "LogicalRDD" and _is_anyhow(plan) and plan.schema().json() == self.shape

    def run(self, given: DataFrame, values: Sequence[int], *, unmerged_upto: int = 0, is_fused: bool = True) -> Collected:
        """``unmerged_upto``: of up to so many tasks a group may come several times, once from each task that has rows of it.

        ``is_fused``: the plan is put on top of the source scan, where that can be.
        """
        for value, arrays in zip(values, self.slots, strict=True):
            for array in arrays:
                array.setLong(0, value)
        rows = given._jdf.logicalPlan().rdd()
        left_out = self.exchange if unmerged_upto and rows.getNumPartitions() <= unmerged_upto else None
        fused = self.fusion.of(given, rows) if is_fused else None
        plan = self.leaf_of(rows) if fused is None else fused
        for place, operator in enumerate(self.above):
            if place != left_out:
                plan = over(operator, plan, self.no_children)
        return Collected(collect_plan(self.frame, plan, self.schema), left_out is None)


def cache_plan(given: DataFrame, template: str, values: Sequence[int], make: Callable[[str], DataFrame]) -> CachedPlan | None:
    """Plan a text once for all batches, or None where that is not safe. ``make`` gives the frame of a text."""
    plan = given._jdf.logicalPlan()
    if kind_of(plan) != "LogicalRDD" or not _is_anyhow(plan):
        return None
    marks = [_FIRST_MARK + number for number in range(len(values))]
    frame = make(filled(template, marks))
    execution = frame._jdf.queryExecution()
    if not _is_repeatable(frame, execution.analyzed()):
        return None
    above, leaf = _operators(execution.executedPlan())
    if leaf is None:
        return None
    slots = _slots(above, marks)
    if not all(slots):
        return None
    above.reverse()
    schema = arrow_schema(frame.schema)
    leaf_of, shape = _leaves_like(frame, leaf), plan.schema().json()
    none = leaf.children()
    fusion = PlanFusion(frame, above, leaf, none)
    exchange = _exchange_of_groups([kind_of(one) for one in above])
    return CachedPlan(frame, schema, tuple(above), leaf_of, fusion, none, shape, slots, exchange)


def _exchange_of_groups(names: Sequence[str]) -> int | None:
    """The only exchange, if it stands between the two halves of an aggregation: from the first operator to the last.

    >>> _exchange_of_groups(["ProjectExec", "HashAggregateExec", "ShuffleExchangeExec", "InputAdapter", "HashAggregateExec"])
    2
    >>> _exchange_of_groups(["ShuffleExchangeExec", "SortExec", "WindowExec"])
    """
    places = [place for place, name in enumerate(names) if name == "ShuffleExchangeExec"]
    if len(places) != 1:
        return None
    [place] = places
    sides = (reversed(names[:place]), names[place + 1 :])
    nearest = [next((name for name in side if name not in _BETWEEN_AGGREGATES), None) for side in sides]
    return place if all(name in _AGGREGATES for name in nearest) else None


def _is_anyhow(plan: Any) -> bool:
    """Whether rows lie about in no order that a plan could have been built on."""
    return kind_of(plan.outputPartitioning()) == "UnknownPartitioning" and bool(plan.outputOrdering().isEmpty())


def _is_repeatable(frame: DataFrame, analyzed: Any) -> bool:
    """Not so: random numbers, the current time, answers of subqueries."""
    patterns = jvm_of(frame).org.apache.spark.sql.catalyst.trees.TreePattern
    differing = (patterns.CURRENT_LIKE(), patterns.EXPRESSION_WITH_RANDOM_SEED(), patterns.PLAN_EXPRESSION())
    return not any(analyzed.containsPattern(pattern) for pattern in differing)


def _operators(plan: Any) -> tuple[list[Any], Any | None]:
    """From the last to the one before the leaf; no leaf where there is an operator that is not known."""
    above = []
    while kind_of(plan) in _KNOWN:
        above.append(plan)
        plan = plan.children().head()
    return above, plan if kind_of(plan) == "RDDScanExec" and _is_anyhow(plan) else None


def _leaves_like(frame: DataFrame, leaf: Any) -> Callable[[Any], Any]:
    """What is asked of the leaf is asked once: each question is a call into the JVM."""
    scan = jvm_of(frame).org.apache.spark.sql.execution.RDDScanExec
    output, others = leaf.output(), (leaf.name(), leaf.outputPartitioning(), leaf.outputOrdering(), leaf.stream())
    return lambda rdd: scan(output, rdd, *others)


def _slots(above: Sequence[Any], marks: Sequence[int]) -> tuple[tuple[Any, ...], ...]:
    """Where the constants are in a plan: for each mark the arrays that hold it."""
    found: dict[str, list[Any]] = {f"[{mark}]": [] for mark in marks}
    for operator in above:
        expressions = operator.expressions()
        for number in range(expressions.size()):
            leaves = expressions.apply(number).collectLeaves()
            for place, text in enumerate(leaves.mkString(_BETWEEN).split(_BETWEEN)):
                if text in found:
                    found[text].append(leaves.apply(place).value())
    return tuple(tuple(arrays) for arrays in found.values())
