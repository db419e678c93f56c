"""Constraints as SQL: the number of a row's fate, and whether it is to be warned of."""

from __future__ import annotations

from windrow.model.constraint import Constraint, judging
from windrow.model.fate import FIRST_VIOLATION, Fate
from windrow.spark.compile.expressions import to_sql


def fate_sql(constraints: tuple[Constraint, ...]) -> str:
    """SQL of the fate of a row that is sound otherwise: that of the first constraint that it violates."""
    branches = [f"WHEN {violates_sql(each)} THEN {FIRST_VIOLATION + number}" for number, each in judging(constraints)]
    return f"CASE {' '.join(branches)} ELSE {Fate.OK.value} END" if branches else str(Fate.OK.value)


def violates_sql(constraint: Constraint) -> str:
    """SQL that is true for a row that violates a constraint. What is unknown is no violation, as with CHECK."""
    return f"NOT coalesce({to_sql(constraint.condition)}, true)"
