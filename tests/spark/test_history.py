"""The history of a job that runs, stops and goes on: what a plain recomputation gives, window by window."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

import windrow
from windrow.jobs.closed_windows import history_of, kept_statements
from windrow.jobs.state_folder import state_folder
from windrow.storage import folder_name

SQL = """
CREATE STREAM t (k STRING, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_seconds');
CREATE STREAM minutes AS SELECT k, COUNT(*) AS n FROM t GROUP BY k
WINDOW TUMBLING(1m) TRIGGER EVERY 1 RECORDS OR ON WATERMARK ALLOWED_LATENESS 10m;
CREATE STREAM hours AS SELECT COUNT(DISTINCT k) AS ks, SUM(n) AS n FROM minutes WHERE _emission <> 'early' WINDOW TUMBLING(1h)
WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""
KEPT = {"state.history.seconds": "86400"}
# By the batch that they come in: in order, then some that are late by minutes, then more.
BATCHES = (
    [("a", 1), ("b", 5), ("a", 30), ("a", 61), ("b", 125)],
    [("a", 2), ("a", 62), ("b", 130), ("a", 200)],
    [("c", 10), ("a", 205), ("b", 299)],
)


def _run(spark: SparkSession, folder: Path, number: int, settings: dict[str, str]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    rows = "".join(json.dumps({"k": k, "ts": ts}) + "\n" for k, ts in BATCHES[number])
    (folder / "in" / f"{number}.json").write_text(rows)
    jobs = windrow.run(SQL.format(folder=folder), spark=spark, mode="once", state=folder / "state", settings=settings)
    assert jobs.await_end(120)


def _kept(folder: Path) -> dict[str, list[tuple[str, int, int, str]]]:
    plan = windrow.compile(SQL.format(folder=folder)).plan
    (job,) = plan.jobs
    place = state_folder(folder / "state").child(folder_name(job.name))
    found = {}
    for stage in kept_statements(job):
        rows = history_of(place, stage)
        if rows is not None and stage.name == "minutes":
            times = rows["_window_start"].dt.epoch("s").to_list()
            found[stage.name] = list(zip(rows["k"], times, rows["n"], rows["_emission"], strict=True))
    return found


def test_a_history_has_every_window_with_its_newest_word(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(len(BATCHES)):
        _run(spark, tmp_path, number, KEPT)
        every = [row for batch in BATCHES[: number + 1] for row in batch]
        counts = Counter((k, ts // 60 * 60) for k, ts in every)
        # The watermark is the greatest time that earlier runs have seen, and this one.
        closed = max(ts for _, ts in every)
        kept = _kept(tmp_path)["minutes"]
        assert sorted((k, start, n) for k, start, n, _ in kept) == sorted((k, start, n) for (k, start), n in counts.items())
        assert all((emission == "early") == (start + 60 > closed) for _, start, _, emission in kept), kept


def test_without_the_setting_nothing_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    _run(spark, tmp_path, 0, {})
    assert _kept(tmp_path) == {}
