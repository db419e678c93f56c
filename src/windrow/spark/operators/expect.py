"""Rows of a query, judged by what its stream expects: those that pass go on, the others are counted and set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.model.constraint import Constraint, OnViolation, judging, warning
from windrow.model.fate import FIRST_VIOLATION
from windrow.plan.physical.strategies import RowHandling
from windrow.plan.stages import Expect
from windrow.spark.compile.constraints import fate_sql, violates_sql
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.ledger_writer import open_account, record_expected, record_violations, record_warnings
from windrow.spark.execution.violations import refuse_violation, violation_letters
from windrow.spark.operators.base import Operator
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import strictness
from windrow.spark.row_columns import PLACE, WARNED
from windrow.spark.scan.dead_letter_scan import returned_rows
from windrow.windowing.columns import EMISSION, RETRACT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_VERDICT = "_verdict"


@dataclass(frozen=True)
class _Judged:
    """``counts`` are of rows by verdict, ``warned`` by constraint; ``aside`` holds those that were set aside, with their verdict."""

    good: Flow
    rows: int
    counts: dict[int, int]
    warned: dict[str, int]
    aside: pa.Table


class ExpectOperator(Operator[Expect]):
    def process(self, batch: BatchContext) -> None:
        source = self._with_returned(batch.flows.get(self.stage.input), batch)
        open_account(batch.result.ledger, self.name)
        if source is None:
            return
        with strictness(self.context.spark, self.stage.is_strict):
            if self.spec.chosen(RowHandling) is RowHandling.JUDGE_IN_DRIVER:
                judged = self._in_driver(source, batch)
            else:
                judged = self._on_executors(source, batch)
        self._settle(judged, batch)
        if judged.good.table is None or judged.good.table.num_rows:
            batch.flows[self.name] = judged.good

    def _with_returned(self, source: Flow | None, batch: BatchContext) -> Flow | None:
        """Together with rows that had been set aside here and come once more."""
        letters = batch.batch.returned.get(self.name)
        if not letters:
            return source
        again = returned_rows(self.context.spark, self.stage.columns, letters)
        if source is None:
            return Flow(tuple(column.name for column in self.stage.columns), table=again.toArrow())
        return Flow(source.columns, source.as_frame(self.context.spark).unionByName(again, allowMissingColumns=True))

    def _in_driver(self, source: Flow, batch: BatchContext) -> _Judged:
        """Spark gives verdicts only: the rows stay what they are, in their order."""
        self.took(RowHandling.JUDGE_IN_DRIVER, batch)
        table = source.as_table(self.context.spark)
        placed = table.append_column(PLACE, pa.array(range(table.num_rows), pa.int64()))
        frame = self.context.spark.createDataFrame(placed).coalesce(1)
        told = frame.selectExpr(PLACE, *self._asked(frame)).toArrow().sort_by(PLACE)
        verdicts = told[_VERDICT]
        counts = {each["values"]: each["counts"] for each in verdicts.value_counts().to_pylist()} if table.num_rows else {}
        warned = {each.name: pc.sum(told[f"{WARNED}{n}"].cast(pa.int64())).as_py() or 0 for n, each in self._warning()}
        is_good = pc.equal(verdicts, 0)
        aside = table.append_column(_VERDICT, verdicts).filter(pc.invert(is_good))
        return _Judged(Flow(source.columns, table=table.filter(is_good)), table.num_rows, counts, warned, aside)

    def _on_executors(self, source: Flow, batch: BatchContext) -> _Judged:
        """Kept for the batch: they are counted here, and read by whoever is next."""
        from pyspark.sql import functions as F

        self.took(RowHandling.JUDGE_ON_EXECUTORS, batch)
        given = source.as_frame(self.context.spark)
        frame = given.selectExpr("*", *self._asked(given)).persist()
        batch.cached.append(frame)
        sums = [F.expr(f"count_if({WARNED}{n})").alias(f"{WARNED}{n}") for n, _ in self._warning()]
        found = frame.groupBy(_VERDICT).agg(F.count("*").alias("n"), *sums).toArrow().to_pylist()
        counts = {row[_VERDICT]: row["n"] for row in found}
        warned = {each.name: sum(row[f"{WARNED}{n}"] for row in found) for n, each in self._warning()}
        kept = [FIRST_VIOLATION + number for number, each in judging(self.stage.constraints) if _is_kept(each)]
        wanted = [verdict for verdict in kept if verdict in counts]
        hidden = [f"{WARNED}{n}" for n, _ in self._warning()]
        listed = ", ".join(map(str, wanted)) or "-1"
        aside = frame.where(f"{_VERDICT} IN ({listed})").drop(*hidden)
        rows = aside.toArrow() if wanted else pa.table({_VERDICT: pa.array([], pa.int32())})
        return _Judged(
            Flow(source.columns, frame.where(f"{_VERDICT} = 0").drop(_VERDICT, *hidden)), sum(counts.values()), counts, warned, rows
        )

    def _asked(self, frame: DataFrame) -> list[str]:
        """SQL of the verdict, and of each warning. What takes an earlier row back is no row to be judged."""
        is_a_result = f"coalesce(`{EMISSION}` <> '{RETRACT}', true)" if EMISSION in frame.columns else "true"
        fate = fate_sql(self.stage.constraints)
        warned = [f"{is_a_result} AND ({fate}) = 0 AND {violates_sql(each)} AS {WARNED}{n}" for n, each in self._warning()]
        return [f"CAST(CASE WHEN {is_a_result} THEN {fate} ELSE 0 END AS INT) AS {_VERDICT}", *warned]

    def _warning(self) -> list[tuple[int, Constraint]]:
        return list(enumerate(warning(self.stage.constraints)))

    def _settle(self, judged: _Judged, batch: BatchContext) -> None:
        account, batch_id = batch.result.ledger.statement(self.name), batch.batch.batch_id
        for number, each in judging(self.stage.constraints):
            count = judged.counts.get(FIRST_VIOLATION + number, 0)
            if not count:
                continue
            letters = []
            if _is_kept(each):
                rows = judged.aside.filter(pc.equal(judged.aside[_VERDICT], FIRST_VIOLATION + number)).drop_columns([_VERDICT])
                found = iter(rows.to_pylist(maps_as_pydicts="lossy"))
                letters = violation_letters(each, self.name, self.name, found, batch_id)
            if each.on_violation is OnViolation.FAIL:
                refuse_violation(f"statement {self.name}", each, count, letters[0])
            record_violations(account, each, count)
            batch.result.dead_letters.extend(letters)
        for each in warning(self.stage.constraints):
            record_warnings(account, each, judged.warned[each.name])
        record_expected(batch.result.ledger, self.name, judged.rows, judged.counts.get(0, 0))


def _is_kept(constraint: Constraint) -> bool:
    """Whether the rows themselves are wanted, and not only how many."""
    return constraint.on_violation in (OnViolation.DEAD_LETTER, OnViolation.FAIL)
