"""Joins of streams, run again after restarts and in other batches; what filters keep out of a join; files that have changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import windrow
from tests.spark.test_cases import CONFORMANCE
from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.jobs.options import RunOptions
from windrow.jobs.runner import start
from windrow.observe.status import JobStatus
from windrow.testing import Case, CaseRunner, load_cases

FILES = ("asof_joins", "outer_window_joins", "join_filters", "null_safe_joins")
CASES = [case for name in FILES for case in load_cases(CONFORMANCE / "cases" / f"{name}.jsonl") if not case.expects_error]
PER_ROW = [case for case in CASES if case.batches == "per_row"]


def _is_in_order(case: Case) -> bool:
    """Then results do not depend on how rows were cut into batches, by the contract."""
    rows = case.rows or ()
    times = [row["_ts"] for row in rows if "_ts" in row]
    return bool(rows) and times == sorted(times) and not any("_restart" in row for row in rows)


@pytest.mark.parametrize("case", PER_ROW[::3], ids=lambda case: case.name)
def test_restarts_change_nothing(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, restart_every_batch=True).run(case)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("case", [case for case in PER_ROW if _is_in_order(case)][::2], ids=lambda case: case.name)
def test_the_cut_of_batches_changes_nothing(spark: SparkSession, case: Case) -> None:
    for batches, seed in (("single", 0), ("random", 1)):
        verdict = CaseRunner(spark, batches=batches, seed=seed).run(case)
        assert verdict.passed, f"{batches}: {verdict.message}"


@pytest.mark.parametrize("case", PER_ROW[1::9], ids=lambda case: case.name)
def test_structured_streaming_gives_the_same(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, streaming=True).run(case)
    assert verdict.passed, verdict.message


STREAM = """
CREATE STREAM {name} (k BIGINT, v BIGINT, note STRING, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/{name}', 'format' = 'json', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis'
);
"""
JOINED = """
CREATE STREAM joined AS SELECT a.k, a.v, b.v AS w FROM a LEFT JOIN b WITHIN 10s ON a.k = b.k WHERE {where}
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


def _write(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        rows = [{"k": i % 10, "v": i, "note": "x" * 50, "ts": 1000 + i} for i in range(100)]
        (folder / name / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _run(spark: SparkSession, folder: Path, where: str) -> JobStatus:
    sql = "".join(STREAM.format(name=name, folder=folder) for name in ("a", "b")) + JOINED.format(folder=folder, where=where)
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=folder / "state")
    assert jobs.await_end(120)
    return jobs.status()[0]


@pytest.mark.parametrize(
    ("where", "filtered", "pairs"),
    [
        pytest.param("a.v < 5", 95, 50, id="left rows"),
        pytest.param("b.v < 5 AND a.v < 20", 80 + 95, 10, id="both, and the join is an inner one"),
        pytest.param("b.v < 5 OR b.v IS NULL", 0, 1000, id="NULL may pass, so nothing moves"),
    ],
)
def test_what_a_filter_leaves_out_is_not_joined(spark: SparkSession, tmp_path: Path, where: str, filtered: int, pairs: int) -> None:
    _write(tmp_path)
    status = _run(spark, tmp_path, where)
    join = status.ledger.statements["joined/join"]
    assert (join.rows_in, join.filtered, join.passed, join.emitted) == (200, filtered, 200 - filtered, pairs)
    assert status.ledger.is_balanced
    assert status.ledger.sources["a"].passed == status.ledger.sources["b"].passed == 100


def test_a_statement_more_is_refused_and_begins_nothing(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path)
    file = tmp_path / "job.sql"
    source = STREAM.format(name="a", folder=tmp_path)
    one = f"CREATE STREAM one AS SELECT k FROM a WITH ('connector' = 'files', 'path' = '{tmp_path}/one', 'format' = 'json');"
    other = "CREATE STREAM {name} AS SELECT v FROM {of} WITH ('connector' = 'files', 'path' = '{folder}/{name}', 'format' = 'json');"

    def run(*statements: str) -> None:
        compiled = compile_sql("".join(statements), str(file), {})
        assert start(compiled, RunOptions(state=tmp_path / "state", mode="until_end"), spark).await_end(120)

    run(source, one)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert [path.name for path in (tmp_path / "state").iterdir() if path.is_dir()] == ["job"]
    connected = other.format(name="two", of="a", folder=tmp_path)
    apart = STREAM.format(name="b", folder=tmp_path) + other.format(name="three", of="b", folder=tmp_path)
    for more in (connected, apart):
        with pytest.raises(UsageError, match="WR804"):
            run(source, one, more)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == files
    assert [path.name for path in (tmp_path / "state").iterdir() if path.is_dir()] == ["job"]
