"""The query of a stage is planned once and run on the rows of every batch; what cannot be repeated is planned each time."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow
from windrow.spark.compile.expressions import of_batch
from windrow.spark.internals.plan_cache import CachedPlan, Collected
from windrow.spark.internals.plan_fusion import PlanFusion
from windrow.spark.query.runner import LazyRelation, QueryRunner
from windrow.spark.session import adopt_session

SOURCE = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM out AS SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(price) AS total
  FROM trades {where} GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""
START = 1_700_000_000_000
BATCHES = 5


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The constants of every run of a prepared plan."""
    runs: list[tuple[int, ...]] = []
    run = CachedPlan.run

    def noting(self: CachedPlan, given: DataFrame, values: list[int], *, unmerged_upto: int, is_fused: bool = True) -> Collected:
        runs.append(tuple(values))
        return run(self, given, values, unmerged_upto=unmerged_upto, is_fused=is_fused)

    monkeypatch.setattr(CachedPlan, "run", noting)
    return runs


def _run(spark: SparkSession, folder: Path, where: str = "") -> list[dict[str, object]]:
    (folder / "in").mkdir()
    for number in range(BATCHES):
        path = folder / "in" / f"{number}.json"
        rows = [{"symbol": "AB"[i % 2], "price": i + number * 1.0, "ts": START + number * 10_000 + i * 900} for i in range(6)]
        # A row that is late from the third batch on.
        rows.append({"symbol": "A", "price": 1000.0, "ts": START})
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    jobs = windrow.run(SOURCE.format(folder=folder, where=where), spark=spark, mode="until_end", state=folder / "state")
    assert jobs.await_end(120)
    assert jobs.status()[0].ledger.is_balanced
    assert jobs.status()[0].ledger.statements["out"].dead == {"WR705": 3}
    return [json.loads(line) for path in sorted((folder / "out").glob("batch-*.json")) for line in path.read_text().splitlines()]


def test_every_batch_runs_the_one_plan_with_its_own_rows_and_watermark(
    spark: SparkSession, tmp_path: Path, repeated: list[tuple[int, ...]]
) -> None:
    rows = _run(spark, tmp_path)
    found = {(row["symbol"], row["s"]): (row["n"], row["total"]) for row in rows}
    assert len(found) == 2 * BATCHES
    totals = sorted(total for _, total in found.values())  # type: ignore[type-var]
    own = [1.0 * sum(i + number for i in range(6) if i % 2 == odd) for number in range(BATCHES) for odd in (0, 1)]
    own[0] += 2000.0
    assert totals == sorted(own)
    assert len(repeated) == BATCHES
    assert len(set(repeated)) == BATCHES, "the constants of a batch are its own"


@pytest.mark.parametrize("where", ["WHERE rand() < 2", "WHERE current_timestamp() > timestamp '2020-01-01 00:00:00'"])
def test_what_differs_from_run_to_run_is_planned_each_time(
    spark: SparkSession, tmp_path: Path, repeated: list[tuple[int, ...]], where: str
) -> None:
    assert len(_run(spark, tmp_path, where)) == 2 * BATCHES
    assert not repeated


def _handed_over(spark: SparkSession, table: pa.Table, tasks: int | None = None) -> DataFrame:
    """A frame such as a micro-batch is: rows that Spark knows nothing more of."""
    frame = spark.createDataFrame(table)
    frame = frame if tasks is None else frame.repartition(tasks)
    jvm = spark._jvm
    assert jvm is not None
    rows = frame._jdf.queryExecution().toRdd()
    return DataFrame(spark._jsparkSession.internalCreateDataFrame(rows, frame._jdf.schema(), False), spark)


def test_rows_of_another_shape_get_a_plan_of_their_own(spark: SparkSession, repeated: list[tuple[int, ...]]) -> None:
    queries = QueryRunner()

    def ask(values: list[int], kind: pa.DataType, added: int) -> list[object]:
        rows = LazyRelation(_handed_over(spark, pa.table({"n": pa.array(values, kind)})))
        table = queries.table(rows, lambda given: f"SELECT n + {of_batch(added, 'n')} AS m FROM {given}")
        return list(table["m"].to_pylist())

    assert ask([1, 2], pa.int64(), 10) == [11, 12]
    assert ask([3, 4], pa.int64(), -20) == [-17, -16]
    assert len(repeated) == 2
    assert ask([5], pa.int32(), 30) == [35]
    assert len(repeated) == 2, "a plan for BIGINT is not run on INT"


def test_two_constants_of_one_value_stay_two(spark: SparkSession, repeated: list[tuple[int, ...]]) -> None:
    queries = QueryRunner()
    for first, second in ((7, 7), (1, 2), (-5, 2**60)):
        rows = LazyRelation(_handed_over(spark, pa.table({"n": [0]})))
        sql = f"SELECT {of_batch(first, 'n')} AS a, {of_batch(second, 'n')} AS b FROM "
        assert queries.table(rows, lambda given, sql=sql: sql + given).to_pylist() == [{"a": first, "b": second}]  # type: ignore[misc]
    assert len(repeated) == 3


@pytest.mark.parametrize(("tasks", "unmerged_upto", "most"), [(2, 8, 6), (2, 0, 3), (9, 8, 3)])
def test_groups_may_come_in_a_share_from_each_of_few_tasks(spark: SparkSession, tasks: int, unmerged_upto: int, most: int) -> None:
    numbers = list(range(3000))
    rows = LazyRelation(_handed_over(adopt_session(spark), pa.table({"k": [n % 3 for n in numbers], "n": numbers}), tasks))
    sql = "SELECT k, count(1) AS rows, sum(n) AS total, max(n) AS most FROM {} GROUP BY k"
    table, is_merged = QueryRunner().partials(rows, sql.format, unmerged_upto=unmerged_upto)
    assert (table.num_rows, is_merged) == (most, most == 3)
    merged = table.group_by("k").aggregate([("rows", "sum"), ("total", "sum"), ("most", "max")]).sort_by("k")
    assert merged["rows_sum"].to_pylist() == [1000] * 3
    assert merged["total_sum"].to_pylist() == [sum(n for n in numbers if n % 3 == k) for k in range(3)]
    assert merged["most_max"].to_pylist() == [2997, 2998, 2999]


def test_rows_that_are_put_in_order_come_together(spark: SparkSession) -> None:
    """There is more than one exchange, or one that is not of groups: it stays."""
    rows = LazyRelation(_handed_over(adopt_session(spark), pa.table({"k": [1, 2] * 50, "n": list(range(100))}), 2))
    numbered = "SELECT k, row_number() OVER (PARTITION BY k ORDER BY n) AS place FROM {}"
    table, is_merged = QueryRunner().partials(rows, numbered.format, unmerged_upto=8)
    assert is_merged
    assert sorted(table["place"].to_pylist()) == sorted([*range(1, 51)] * 2)
    counted = f"SELECT k, max(place) AS most FROM ({numbered}) GROUP BY k"
    assert QueryRunner().partials(rows, counted.format, unmerged_upto=8).table.sort_by("k").to_pylist() == [
        {"k": 1, "most": 50},
        {"k": 2, "most": 50},
    ]
    different = "SELECT k % 1 AS z, count(DISTINCT k) AS kinds FROM {} GROUP BY k % 1"
    assert QueryRunner().partials(rows, different.format, unmerged_upto=8).table["kinds"].to_pylist() == [2]


BENEATH = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT{more}) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'parquet', 'files.per_batch' = '2',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM out AS SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(price) AS total, MAX(_offset) AS place, MIN(_topic) AS path
  FROM trades GROUP BY symbol WINDOW TUMBLING(10s) {emit}
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


@pytest.fixture
def beneath(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of every question: whether it was put right on what makes the rows."""
    found: list[bool] = []
    of = PlanFusion.of

    def noting(self: PlanFusion, given: DataFrame, rows: object) -> object:
        plan = of(self, given, rows)
        found.append(plan is not None)
        return plan

    monkeypatch.setattr(PlanFusion, "of", noting)
    return found


def _parquet(folder: Path, more: int = 0) -> None:
    (folder / "in").mkdir(parents=True)
    for number in range(6):
        times = [START + number * 10_000 + i * 900 for i in range(6)] + [START]
        columns = {"symbol": ["A", "B"] * 3 + ["A"], "price": [i + number * 1.0 for i in range(6)] + [1000.0], "ts": times}
        columns |= {f"c{i}": [float(i)] * 7 for i in range(more)}
        path = folder / "in" / f"{number}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _ask(spark: SparkSession, folder: Path, emit: str, more: int = 0) -> tuple[list[str], list[str], int]:
    """What came out, what was set aside, and how many rows that were."""
    columns = "".join(f", c{i} DOUBLE" for i in range(more))
    sql = BENEATH.format(folder=folder, emit=emit, more=columns)
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=folder / "state")
    assert jobs.await_end(120)
    assert jobs.status()[0].ledger.is_balanced
    out = [line for path in sorted((folder / "out").glob("batch-*.json")) for line in path.read_text().splitlines()]
    tables = [pq.read_table(path).drop_columns(["arrived_at"]) for path in sorted((folder / "state").rglob("dead_letters/*.parquet"))]
    letters = [str(letter) for table in tables for letter in table.to_pylist()]
    return out, letters, jobs.status()[0].ledger.statements["out"].dead["WR705"]


@pytest.mark.parametrize("emit", ["", "EMIT CHANGES", "EMIT CHANGES PER BATCH"])
def test_what_makes_the_rows_gives_what_the_rows_would(
    spark: SparkSession, tmp_path: Path, beneath: list[bool], monkeypatch: pytest.MonkeyPatch, emit: str
) -> None:
    _parquet(tmp_path)
    out, letters, late = _ask(spark, tmp_path, emit)
    assert beneath
    assert all(beneath)
    monkeypatch.setattr(PlanFusion, "of", lambda *_: None)
    for name in ("out", "state"):
        shutil.rmtree(tmp_path / name)
    assert (out, letters, late) == _ask(spark, tmp_path, emit)
    assert late == 4
    assert letters
    assert "0.parquet" in out[0]


def test_a_method_that_java_would_not_compile_is_not_made(
    spark: SparkSession, tmp_path: Path, beneath: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    _parquet(tmp_path)
    monkeypatch.setattr("windrow.spark.internals.plan_fusion._LONGEST_METHOD", 100)
    assert len(_ask(spark, tmp_path, "")[0]) == 12
    assert not any(beneath)


def test_a_plan_as_wide_as_its_source_is_compiled(
    spark: SparkSession, tmp_path: Path, beneath: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's own limit is 100 columns."""
    _parquet(tmp_path, more=110)
    lengths: list[int] = []
    measure = PlanFusion._longest_method

    def noting(self: PlanFusion, plan: object) -> int:
        lengths.append(measure(self, plan))
        return lengths[-1]

    monkeypatch.setattr(PlanFusion, "_longest_method", noting)
    assert len(_ask(spark, tmp_path, "", more=110)[0]) == 12
    assert len(lengths) == 1
    assert lengths[0] > 8000, "it is compiled, and too long to be put on what makes the rows"
    assert not any(beneath)


def test_other_rows_than_those_of_the_stream_come_as_they_are(spark: SparkSession, tmp_path: Path, beneath: list[bool]) -> None:
    """JSON lines are read by a reader of their own."""
    assert len(_run(spark, tmp_path)) == 2 * BATCHES
    assert beneath
    assert not any(beneath)
