"""Every call of an aggregate that the checks let pass runs: one query for each aggregate, with all kinds of arguments."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.unit.check.aggregate_calls import accepted, calls, different
from windrow.testing import Case, CaseRunner

_ROWS: tuple[dict[str, Any], ...] = (
    {"n": 1, "x": 1.5, "s": "a", "b": True, "_ts": 1000},
    {"n": 2, "x": 2.5, "s": "b", "b": False, "_ts": 2000},
    {"n": None, "x": None, "s": None, "b": None, "_ts": 3000},
    {"_end": True},
)
# Those that gather values or take constants; the others are sums of numbers, of which a few speak for all.
_SUMS = {"VAR_POP", "STDDEV", "STDDEV_POP", "SKEWNESS", "BIT_OR", "BIT_XOR"} | {name for name in different() if name.startswith("REGR_")}


@pytest.mark.parametrize("name", [name for name in different() if name not in _SUMS])
def test_what_the_checks_let_pass_runs(spark: SparkSession, name: str) -> None:
    good = [call for call in dict.fromkeys(calls(name)) if accepted(call)]
    items = ", ".join(f"{call} AS c{number}" for number, call in enumerate(good))
    source = "CREATE STREAM t (n BIGINT, x DOUBLE, s STRING, b BOOLEAN, h BINARY) WITH ('connector' = 'memory')"
    sql = f"{source}; SELECT {items} FROM t WINDOW TUMBLING(1m)"
    verdict = CaseRunner(spark).run(Case(name, sql, None, {"t": _ROWS}, [{}], batches="single"))
    assert verdict.passed, verdict.message
