"""Rows that come too late for a join are dead letters, whole and with the place they came from."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow

SOURCE = """
CREATE STREAM {name} (id BIGINT, {column} STRING, note STRING, ts BIGINT) WITH ('connector' = 'files', 'path' = '{folder}/{name}',
  'format' = 'json', 'files.per_batch' = '1', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
"""
PAIRS = """
CREATE STREAM pairs AS SELECT o.id, s.carrier FROM orders o JOIN ships s {how} ON o.id = s.id {window}
  WITH ('connector' = 'files', 'path' = '{folder}/pairs', 'format' = 'json');
"""


def _feed(folder: Path, name: str, column: str, *batches: list[tuple[int, int]]) -> None:
    (folder / name).mkdir()
    for number, rows in enumerate(batches):
        path = folder / name / f"{number}.json"
        path.write_text("".join(json.dumps({"id": id_, column: "x", "note": f"{name} {at}", "ts": at}) + "\n" for id_, at in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


@pytest.mark.parametrize(
    ("how", "window", "why"),
    [("", "WINDOW TUMBLING(10s)", "every window that the row belongs to"), ("WITHIN 10s", "", "nothing can be joined with it any more")],
)
def test_they_are_whole(spark: SparkSession, tmp_path: Path, how: str, window: str, why: str) -> None:
    _feed(tmp_path, "orders", "item", [(1, 1000), (9, 60_000)], [(8, 55_000), (1, 3000)])
    _feed(tmp_path, "ships", "carrier", [(1, 2000), (9, 60_000)], [(2, 4000)])
    sources = (SOURCE.format(name=name, column=column, folder=tmp_path) for name, column in (("orders", "item"), ("ships", "carrier")))
    sql = "".join(sources) + PAIRS.format(how=how, window=window, folder=tmp_path)
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(120)
    status = jobs.status()[0]
    assert status.ledger.is_balanced
    late = 3 if window else 2
    assert dict(status.ledger.statements["pairs/join"].dead) == {"WR705": late}, "a window closes for a row that a bound still reaches"
    [letters] = (tmp_path / "state").rglob("dead_letters/*.parquet")
    found = pq.read_table(letters).to_pylist()[-2:]
    assert [(letter["source"], letter["statement"], letter["offset"]) for letter in found] == [
        ("orders", "pairs", 1),
        ("ships", "pairs", 0),
    ]
    assert [json.loads(letter["row"])["note"] for letter in found] == ["orders 3000", "ships 4000"]
    assert all(why in letter["message"] and letter["topic"].endswith("/1.json") for letter in found)
    told = [(_millis(letter["watermark"]), letter["late_by"] // 1000, _millis(letter["window_end"])) for letter in found]
    assert told == ([(60_000, 50_000, 10_000)] * 2 if window else [(60_000, 57_000, None), (60_000, 56_000, None)])


def _millis(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp() * 1000)
