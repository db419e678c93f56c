"""Lineage against an oracle that knows nothing of it: change one input column, run again, and see which output columns are different."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from windrow.errors import WindrowError
from windrow.lineage import ROWS, ColumnRef, Dataset, lineage_of, upstream
from windrow.plan.stages import LoadTable, Read
from windrow.testing import Case, CaseRunner, load_cases
from windrow.testing.runner import compile_case

CASES = Path(__file__).parent.parent / "conformance" / "cases"
FILE = "case.sql"


def columns_of(case: Case) -> list[str]:
    rows = case.rows if case.rows is not None else [row for rows in (case.streams or {}).values() for row in rows]
    return sorted({name for row in rows for name in row if not name.startswith("_")})


# Without those of which every plain value is a test of one function: they say the same thing about lineage again and again.
FILES = [path for path in sorted(CASES.glob("*.jsonl")) if path.stem not in ("functions", "generated", "waiting", "late_at_source")]
RUNNING = [case for path in FILES for case in load_cases(path) if not case.expects_error]
GAPS = set((CASES.parent / "gaps.txt").read_text().splitlines())
ORACLE = [case for case in RUNNING if case.name not in GAPS]
KNOWN = [case for case in ORACLE if columns_of(case)]
SAMPLE = KNOWN[5::60]
# As many as can be run again for each of their columns in a quarter of an hour.
MANY = KNOWN[2 :: len(KNOWN) // 150][:150]


def changed(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 7
        case str():
            return f"{value}7"
        case _:
            return value


def with_column_changed(case: Case, column: str) -> Case:
    """Every second value, so that groups come apart as well as change."""

    def mended(rows: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
        return tuple({**row, column: changed(row[column])} if column in row and i % 2 == 0 else row for i, row in enumerate(rows))

    rows = None if case.rows is None else mended(case.rows)
    streams = None if case.streams is None else {name: mended(rows) for name, rows in case.streams.items()}
    return replace(case, rows=rows, streams=streams)


def values(rows: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """The values of every column, in no order."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        for name, value in row.items():
            if not name.startswith("_"):
                found.setdefault(name, Counter())[repr(value)] += 1
    return found


def outputs_of(spark: SparkSession, case: Case) -> dict[str, dict[str, Counter[str]]] | None:
    try:
        return {name: values(rows) for name, rows in CaseRunner(spark).outcome(case).outputs.items()}
    except WindrowError:
        return None


def differing(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for name in before.keys() | after.keys():
        one, other = before.get(name, {}), after.get(name, {})
        yield from ((name, column) for column in one.keys() | other.keys() if one.get(column) != other.get(column))


def judge(spark: SparkSession, case: Case) -> tuple[set[tuple[str, str, str]], set[tuple[str, str, str]], list[str]]:
    """What the lineage says, what the oracle saw, and what of that the lineage does not have: (output, column, input column)."""
    compiled, _ = compile_case(case)
    lineage = lineage_of(compiled.plan, FILE)
    sources = {stage.name for job in compiled.plan.jobs for stage in job.stages if isinstance(stage, Read | LoadTable)}
    said = set()
    for dataset, columns in lineage.columns.items():
        for column in () if dataset.name in sources else columns:
            found = upstream(lineage, ColumnRef(dataset, column)).columns()
            said |= {(dataset.name, column.lower(), each.column.lower()) for each in found if each.dataset.name in sources}
    before = outputs_of(spark, case)
    seen: set[tuple[str, str, str]] = set()
    missing = []
    for column in columns_of(case):
        after = outputs_of(spark, with_column_changed(case, column))
        if before is None or after is None:
            continue
        for name, output in differing(before, after):
            if Dataset(FILE, name) not in lineage.columns:
                continue
            edge = (name, output.lower(), column.lower())
            seen.add(edge)
            if edge not in said:
                missing.append(f"{name}.{output} changes with {column}, and no edge says so")
    inputs = {column.lower() for column in columns_of(case)}
    return {edge for edge in said if edge[2] in inputs and edge[2] != ROWS}, seen, missing


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_no_edge_is_missing(spark: SparkSession, case: Case) -> None:
    _, _, missing = judge(spark, case)
    assert missing == []


def test_the_oracle_sees_what_depends_on_a_column(spark: SparkSession, tmp_path: Path) -> None:
    sql = "SELECT k, SUM(v) AS s FROM t GROUP BY k EMIT CHANGES"
    path = tmp_path / "sums.jsonl"
    path.write_text(json.dumps({"name": "sums", "sql": sql, "input": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "expected": []}))
    (case,) = load_cases(path)
    said, seen, missing = judge(spark, case)
    assert {("out", "s", "v"), ("out", "k", "k")} <= seen & said
    assert missing == []


@pytest.fixture(scope="module")
def shares() -> Iterator[list[tuple[int, int]]]:
    """Of each query, how many dependencies the lineage has, and how many of them the oracle saw."""
    found: list[tuple[int, int]] = []
    yield found
    if found:
        said, seen = (sum(counts) for counts in zip(*found, strict=True))
        print(f"\n{len(found)} queries, {said} dependencies; the oracle saw {seen}, and never {(said - seen) / max(said, 1):.1%}")


@pytest.mark.slow
@pytest.mark.parametrize("case", MANY, ids=lambda case: case.name)
def test_no_edge_is_missing_in_many_cases(spark: SparkSession, case: Case, shares: list[tuple[int, int]]) -> None:
    said, seen, missing = judge(spark, case)
    shares.append((len(said), len(said & seen)))
    assert missing == []
