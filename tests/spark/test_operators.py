"""EXPLAIN prints what runs: operators of a run have the strategies that were printed; and what they report adds up."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.compiler import compile_sql
from windrow.observe.status import JobStatus, OperatorStatus
from windrow.plan.explain import explain
from windrow.plan.physical import RunWishes
from windrow.plan.physical.strategies import Accounting, Pass, State, Totals

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/query.sql"))
STRATEGIES = Path(__file__).parents[1] / "conformance" / "plans" / "strategies.sql"
SOURCE = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
"""
SINK = " WITH ('connector' = 'files', 'path' = '{folder}/{name}', 'format' = 'json');"
WAIT = 120


def _run(spark: SparkSession, sql: str, folder: Path, **settings: str) -> JobStatus:
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=folder / "state", settings=settings)
    assert jobs.await_end(WAIT)
    (status,) = jobs.status()
    return status


def _run_for_a_batch(spark: SparkSession, sql: str, folder: Path) -> list[JobStatus]:
    """As EXPLAIN has it: without an end. A job that goes on by itself has its first rows, then it is stopped."""
    jobs = windrow.run(sql, spark=spark, mode="continuous", state=folder / "state")
    try:
        deadline = time.monotonic() + WAIT
        while not all(status.batch_id >= 0 and status.rows_in for status in jobs.status()):
            assert time.monotonic() < deadline, jobs.status()
            time.sleep(0.05)
        return jobs.status()
    finally:
        jobs.stop()


def _ways(strategies: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """By choice, the ways that a plan leaves open."""
    found: dict[str, set[str]] = {}
    for each in strategies:
        found.setdefault(each["choice"], set()).update((each["strategy"], each.get("otherwise", each["strategy"])))
    return found


def _taken(operator: OperatorStatus) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for choice, way in (told.split(": ") for told in operator.taken):
        found.setdefault(choice, set()).add(way)
    return found


def _told(sql: str, *, is_bounded: bool) -> list[dict[str, Any]]:
    """The jobs as EXPLAIN tells them."""
    jobs: list[dict[str, Any]] = json.loads(explain(compile_sql(sql, env={}).plan, "json", wishes=RunWishes(is_bounded=is_bounded)))["jobs"]
    return jobs


def assert_planned_as_told(job: Mapping[str, Any], status: JobStatus) -> None:
    expected = {stage["name"]: stage["strategies"] for stage in job["stages"]}
    assert {one.name: list(one.strategies) for one in status.operators} == expected


def assert_went_as_planned(status: JobStatus) -> None:
    """Each operator noted a way for each of its choices, where it went it, and each way is one that the plan names."""
    for one in status.operators:
        planned, taken = _ways(one.strategies), _taken(one)
        assert taken.keys() == planned.keys(), (one.name, taken, planned)
        assert all(ways <= planned[choice] for choice, ways in taken.items()), (one.name, taken, planned)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_what_explain_prints_is_what_runs(spark: SparkSession, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parents[2])
    sql = file.read_text(encoding="utf-8")
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(WAIT)
    for job, status in zip(_told(sql, is_bounded=True), jobs.status(), strict=True):
        assert_planned_as_told(job, status)
        assert_went_as_planned(status)


def test_what_explain_prints_is_what_runs_without_an_end(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes on without rows then, which takes other ways."""
    file = next(file for file in EXAMPLES if file.parent.name == "sensor_range")
    monkeypatch.chdir(file.parents[2])
    sql = file.read_text(encoding="utf-8")
    [job], [status] = _told(sql, is_bounded=False), _run_for_a_batch(spark, sql, tmp_path)
    assert _told(sql, is_bounded=True) != [job]
    assert_planned_as_told(job, status)


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _shop_files(folder: Path) -> None:
    """What tests/conformance/plans/strategies.sql reads."""
    (folder / "sales").mkdir(parents=True)
    at = datetime(2026, 1, 5, 10, tzinfo=UTC)
    times = [at + timedelta(seconds=40 * n) for n in range(6)]
    clicks = [{"visitor": "ab"[n % 2], "page": "/", "ms": n, "ts": int(when.timestamp() * 1000)} for n, when in enumerate(times)]
    _write_lines(folder / "clicks.json", clicks)
    sales = {"id": list(range(6)), "shop": ["n", "s"] * 3, "items": [["tea", "milk"]] * 6, "amount": [1.0, 5000.0, 3.0, 4.0, 5.0, 6.0]}
    pq.write_table(pa.table({**sales, "ts": pa.array(times, pa.timestamp("us", "UTC"))}), folder / "sales" / "1.parquet")
    _write_lines(folder / "returns.json", [{"id": 1, "shop": "n", "amount": 0.5, "ts": times[3].isoformat()}])
    _write_lines(folder / "shops.json", [{"shop": "n", "town": "Nantes"}])


def test_ways_that_the_examples_do_not_show(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _shop_files(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    sql = STRATEGIES.read_text(encoding="utf-8")
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(WAIT)
    for job, status in zip(_told(sql, is_bounded=True), jobs.status(), strict=True):
        assert_planned_as_told(job, status)
        assert_went_as_planned(status)
        assert status.ledger.is_balanced


def _files(folder: Path) -> None:
    (folder / "in").mkdir()
    for number in range(3):
        rows = [{"symbol": "AB"[i % 2], "price": float(i), "ts": 1_700_000_000_000 + number * 60_000 + i} for i in range(10)]
        path = folder / "in" / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Files are taken in the order of their times, and these were written within a millisecond.
        os.utime(path, (1_700_000_000 + number,) * 2)


def _strategy(status: JobStatus, operator: str, choice: str) -> Any:
    own = next(one for one in status.operators if one.name == operator)
    return next(each["strategy"] for each in own.strategies if each["choice"] == choice)


def test_rows_seconds_and_state_of_every_operator_are_in_the_status(spark: SparkSession, tmp_path: Path) -> None:
    _files(tmp_path)
    sql = SOURCE + "CREATE STREAM sums AS SELECT symbol, SUM(price) AS s FROM trades WHERE price > 0 GROUP BY symbol WINDOW TUMBLING(1m)"
    status = _run(spark, (sql + SINK).format(folder=tmp_path, name="sums"), tmp_path)
    read, sums, write = status.operators
    assert (read.operator, sums.operator, write.operator) == ("Read", "Aggregate", "Write")
    assert (read.total_rows_in, read.total_rows_out) == (30, 30)
    assert (sums.total_rows_in, sums.total_rows_out) == (30, 6)
    assert write.total_rows_in == 6
    # The end of the input is a batch of its own, which brings no rows and closes the last windows.
    assert (read.rows_in, sums.rows_in, sums.rows_out, write.rows_out) == (0, 0, 2, 2)
    assert sums.total_seconds > 0
    assert sums.bytes_out
    assert list(status.phases) == ["plan", "read", "transform", "aggregate", "step", "write", "dead_letters", "commit"]
    assert sum(status.phases.values()) == pytest.approx(status.batch_seconds)
    assert status.total_phases["aggregate"] > 0
    assert status.total_phases["commit"] > 0
    assert sum(one.total_seconds for one in status.operators) <= sum(status.total_phases.values())
    assert json.loads(json.dumps(status.to_json()))["operators"][1]["state"]["windows"] == 0


def test_windows_that_are_open_are_those_of_the_operators(spark: SparkSession, tmp_path: Path) -> None:
    _files(tmp_path)
    sql = SOURCE + "CREATE STREAM sums AS SELECT symbol, SUM(price) AS s FROM trades GROUP BY symbol WINDOW TUMBLING(1m)"
    jobs = windrow.run((sql + SINK).format(folder=tmp_path, name="sums"), spark=spark, mode="once", state=tmp_path / "state")
    assert jobs.await_end(WAIT)
    (status,) = jobs.status()
    sums = status.operators[1]
    assert sums.state.windows == status.open_windows == 2
    assert sums.state.rows > 0
    assert sums.state.bytes > 0


def test_facts_that_are_found_out_change_the_plan(spark: SparkSession, tmp_path: Path) -> None:
    """State that has moved to the executors ends a shared pass; greatest texts are no running totals of numbers."""
    _files(tmp_path)
    two = (
        "CREATE STREAM a AS SELECT symbol, SUM(price) AS s FROM trades GROUP BY symbol WINDOW TUMBLING(1m)" + SINK.replace("{name}", "a")
    ) + ("CREATE STREAM b AS SELECT symbol, MAX(price) AS m FROM trades GROUP BY symbol WINDOW TUMBLING(2m)" + SINK.replace("{name}", "b"))
    shared = _run(spark, (SOURCE + two).format(folder=tmp_path), tmp_path / "driver")
    moved = _run(
        spark,
        (SOURCE + two).format(folder=tmp_path).replace("/a'", "/a2'").replace("/b'", "/b2'"),
        tmp_path / "x",
        **{"state.home": "distributed"},
    )
    assert _strategy(shared, "b", "pass") == Pass.SHARED.key
    assert (_strategy(moved, "a", "pass"), _strategy(moved, "b", "pass")) == (Pass.SOURCE.key, Pass.OWN.key)
    assert _strategy(moved, "b", "state") == State.EXECUTORS.key
    assert shared.ledger.to_json() == moved.ledger.to_json()
    texts = (
        SOURCE + "CREATE STREAM c AS SELECT symbol, MAX(upper(symbol)) AS m FROM trades GROUP BY symbol WINDOW TUMBLING(1m) EMIT CHANGES"
    )
    status = _run(spark, (texts + SINK).format(folder=tmp_path, name="c"), tmp_path / "c")
    assert _strategy(status, "c", "running totals") == Totals.SPARK_WINDOW.key
    assert _strategy(status, "trades", "accounting") == Accounting.IN_AGGREGATION.key
