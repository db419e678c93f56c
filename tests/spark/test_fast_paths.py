"""What Spark does not promise makes a job faster and never different: the same rows come out with it, without it, and when it breaks."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.connectors.streaming import arrow_batches
from windrow.errors import JobError
from windrow.jobs.letters import read_letters
from windrow.observe.ledger import Ledger
from windrow.spark.internals import arrow_collect, fast_paths, file_scan
from windrow.spark.internals.fast_paths import CAPABILITIES, SWITCHED_OFF, fast_paths_of, probe_all
from windrow.spark.internals.json_scan import JsonReader
from windrow.spark.internals.jvm import MisfitError
from windrow.spark.internals.plan_cache import CachedPlan
from windrow.spark.internals.plan_fusion import PlanFusion
from windrow.spark.session import adopt_session

AT = 1_700_000_000_000
NAMES = [one.name for one in CAPABILITIES]
SQL = """
CREATE STREAM s (k STRING, v INT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = '{format}', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM sums AS SELECT k, _window_start AS since, COUNT(*) AS n, SUM(v) AS total, MIN(_offset) AS place, MAX(_topic) AS file
  FROM s GROUP BY k WINDOW TUMBLING(10s) WITH ('connector' = 'files', 'path' = '{folder}/{out}/sums', 'format' = 'json');
"""
LARGE = """
CREATE STREAM large AS SELECT k, v FROM s WHERE v > 3
  WITH ('connector' = 'files', 'path' = '{folder}/{out}/large', 'format' = 'json');
"""
Result = tuple[list[str], list[dict[str, Any]], dict[str, Any], list[str]]


def _rows(number: int) -> list[dict[str, Any]]:
    own = [{"k": "ab"[i % 2], "v": i + number, "ts": AT + number * 10_000 + i * 900} for i in range(6)]
    # Late from the third batch on.
    return [*own, {"k": "a", "v": 1000, "ts": AT}]


def _write(folder: Path, format_: str) -> None:
    (folder / "in").mkdir(parents=True)
    for number in range(5):
        path = folder / "in" / f"{number} ü+.{format_}"
        if format_ == "json":
            odd = ["broken"] if number == 4 else []
            path.write_text("\n".join([*(json.dumps(row) for row in _rows(number)), *odd]) + "\n")
        else:
            pq.write_table(pa.table({"k": [row["k"] for row in _rows(number)]} | {
                name: pa.array([row[name] for row in _rows(number)], kind) for name, kind in (("v", pa.int32()), ("ts", pa.int64()))
            }), path)  # fmt: skip
        os.utime(path, (1_700_000_000 + number,) * 2)


def _run(spark: SparkSession, folder: Path, format_: str, out: str, settings: dict[str, str] | None = None, more: str = "") -> Result:
    """What came out, what was set aside, what the ledger says, and which fast paths are on at the end."""
    sql = (SQL + more).format(folder=folder, format=format_, out=out)
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=folder / f"state-{out}", settings=settings or {})
    assert jobs.await_end(120)
    rows = [line for path in sorted((folder / out).rglob("batch-*.json")) for line in path.read_text().splitlines()]
    letters = [dict(letter) for job in read_letters(folder / f"state-{out}") for letter in job.records]
    ledger = Ledger()
    for status in jobs.status():
        assert status.ledger.is_balanced
        ledger.add(status.ledger)
    used = [path.name for path in jobs.status()[0].fast_paths if path.why_off is None]
    kept = [{name: value for name, value in letter.items() if name not in ("arrived_at", "letter_id", "id")} for letter in letters]
    return rows, sorted(kept, key=str), ledger.to_json(), used


def test_everything_fits_this_spark(spark: SparkSession) -> None:
    assert probe_all(spark) == {}


@pytest.mark.parametrize("more", ["", LARGE], ids=["one statement", "two statements"])
@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_without_fast_paths_the_same_comes_out(spark: SparkSession, tmp_path: Path, format_: str, more: str) -> None:
    _write(tmp_path, format_)
    *fast, used = _run(spark, tmp_path, format_, "fast", more=more)
    *slow, unused = _run(spark, tmp_path, format_, "slow", {"engine.fast_paths": "off"}, more)
    assert used == NAMES
    assert unused == []
    assert slow == fast
    assert fast[0]
    letters = fast[1]
    assert isinstance(letters, list)
    assert len([letter for letter in letters if letter["code"] == "WR705"]) == 3


def test_a_session_says_why_a_fast_path_is_off(spark: SparkSession, tmp_path: Path) -> None:
    states = fast_paths_of(adopt_session(spark, has_fast_paths=False)).states()
    assert {state.why_off for state in states} == {SWITCHED_OFF}
    assert all(state.speeds_up and state.instead for state in states)


def _break(*_args: object, **_kwargs: object) -> Any:
    raise AttributeError("Spark has changed")


def _break_when_fused(run: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    def broken(self: CachedPlan, *args: Any, is_fused: bool = True, **kwargs: Any) -> pa.Table:
        return _break() if is_fused else run(self, *args, is_fused=is_fused, **kwargs)

    return broken


BREAKS: dict[str, tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = {
    "plan_cache, when a plan is made": ("plan_cache", "json", lambda m: m.setattr("windrow.spark.query.runner.cache_plan", _break)),
    "plan_cache, when a plan runs": ("plan_cache", "parquet", lambda m: m.setattr(CachedPlan, "run", _break)),
    "plan_fusion, when plans are put together": ("plan_fusion", "parquet", lambda m: m.setattr(PlanFusion, "of", _break)),
    "plan_fusion, when such a plan runs": (
        "plan_fusion", "parquet", lambda m: m.setattr(CachedPlan, "run", _break_when_fused(CachedPlan.run)),
    ),
    "json_scan, when it is made": ("json_scan", "json", lambda m: m.setattr(JsonReader, "__init__", _break)),
    "json_scan, when a batch is read": ("json_scan", "json", lambda m: m.setattr(JsonReader, "frame", _break)),
    "file_scan": ("file_scan", "json", lambda m: m.setattr(file_scan, "file_paths", _break)),
}  # fmt: skip


@pytest.mark.parametrize("what", BREAKS)
def test_a_fast_path_that_throws_is_answered_by_the_public_way_and_stays_off(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    name, format_, injected = BREAKS[what]
    _write(tmp_path, format_)
    *expected, _ = _run(spark, tmp_path, format_, "sound")
    injected(monkeypatch)
    with caplog.at_level(logging.WARNING, "windrow.spark"):
        *found, used = _run(spark, tmp_path, format_, "broken")
    assert found == expected
    assert name not in used
    told = [record.getMessage() for record in caplog.records if record.name == "windrow.spark"]
    assert len(told) == 1
    assert f"the fast path {name} failed" in told[0]
    assert "Spark has changed" in told[0]


@pytest.fixture
def unprobed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_paths, "_PROBED", {})


@pytest.mark.usefixtures("unprobed")
def test_what_does_not_fit_is_never_called(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def asked_for_more(_spark: SparkSession) -> None:
        raise MisfitError("PythonRDD has no method runJob with 3 arguments")

    changed = tuple(
        fast_paths.Capability(one.name, one.speeds_up, one.instead, asked_for_more, one.needs) if one.name == "arrow_collect" else one
        for one in CAPABILITIES
    )
    monkeypatch.setattr(fast_paths, "CAPABILITIES", changed)
    monkeypatch.setattr(arrow_collect, "collect_plan", _break)
    _write(tmp_path, "parquet")
    with caplog.at_level(logging.WARNING, "windrow.spark"):
        *_, used = _run(spark, tmp_path, "parquet", "out")
    # Those that need it are off with it.
    assert used == ["file_scan", "json_scan", "read_limits"]
    assert [record.getMessage().partition(",")[0] for record in caplog.records if record.name == "windrow.spark"] == [
        "the fast path arrow_collect is off"
    ]


@pytest.mark.parametrize("attribute", ["__init__", "compute"])
def test_rows_of_a_sink_come_whole_where_partitions_cannot_be_had(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, attribute: str
) -> None:
    session = adopt_session(spark)
    frame = session.range(0, 5_000, 1, 3).selectExpr("id", "timestamp_seconds(id) AS at", "named_struct('a', id) AS nested")
    expected = pa.Table.from_batches(list(arrow_batches(frame, 700)))
    assert expected.num_rows == 5_000
    monkeypatch.setattr(arrow_collect.EncodedPartitions, attribute, _break)
    found = list(arrow_batches(frame, 700))
    assert pa.Table.from_batches(found) == expected
    assert max(batch.num_rows for batch in found) <= 700
    assert not fast_paths_of(session).allows("arrow_collect")


def test_a_query_that_fails_either_way_switches_nothing_off(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "parquet")
    sql = (
        SQL.format(folder=tmp_path, format="parquet", out="out")
        .replace("SUM(v)", "SUM(v / (v - v))")
        .replace("sums', 'format'", "sums', 'error.policy' = 'fail', 'format'")
    )
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=tmp_path / "state")
    with pytest.raises(JobError, match="WR853"):
        jobs.await_end(120)
    assert [path.name for path in jobs.status()[0].fast_paths if path.why_off is None] == NAMES
