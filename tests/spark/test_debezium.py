"""Changes of rows as tables and as streams: jobs over files of envelopes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import windrow
from windrow.connectors.memory.runtime import SINKS

AT = 1_700_000_000_000
Row = dict[str, Any]


def envelope(op: str, row: Row, at: int = 0, before: Row | None = None) -> Row:
    images = {"before": row, "after": None} if op == "d" else {"before": before, "after": row}
    return {**images, "source": {"ts_ms": AT + at}, "op": op, "ts_ms": AT + at}


def put(path: Path, *envelopes: Row | str) -> None:
    """Files are taken in the order of their times."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in envelopes))
    number = 1_700_000_000 + int(path.stem)
    os.utime(path, (number, number))


def run(spark: SparkSession, sql: str, folder: Path, mode: Any = "until_end") -> list[Row]:
    SINKS.pop("out", None)
    jobs = windrow.run(sql, spark=spark, mode=mode, state=folder / "state")
    assert jobs.await_end(120)
    assert jobs.status()[0].ledger.is_balanced
    return SINKS["out"].rows()


def dead_letters(folder: Path) -> list[bytes]:
    return [row["raw"] for file in sorted(folder.rglob("dead_letters/*.parquet")) for row in pq.read_table(file).to_pylist()]


def test_a_table_is_the_rows_as_they_stand_and_follows_changes(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"""
    CREATE TABLE users (id INT NOT NULL, name STRING, PRIMARY KEY (id)) WITH (
      'connector' = 'files', 'path' = '{tmp_path}/users', 'format' = 'debezium', 'refresh.interval' = '1ms');
    CREATE STREAM clicks (who INT) WITH ('connector' = 'files', 'path' = '{tmp_path}/clicks', 'format' = 'json');
    CREATE STREAM out AS SELECT who, u.* FROM clicks LEFT JOIN users u ON who = id WITH ('connector' = 'memory');
    """
    users = [{"id": n, "name": f"first {n}"} for n in range(4)]
    put(tmp_path / "users/1.json", *(envelope("r", user) for user in users), "garbage", {"op": "c"})
    put(tmp_path / "users/2.json", envelope("u", {"id": 1, "name": "new"}), envelope("d", users[2]), envelope("d", users[3]))
    put(tmp_path / "users/3.json", envelope("c", {"id": 3, "name": "back"}))
    for number in (1, 2):
        put(tmp_path / f"clicks/{number}.json", *({"who": n} for n in range(4)))
        rows = run(spark, sql, tmp_path, "once")
        found = {row["who"]: row["name"] for row in rows}
        if number == 1:
            assert not {"_op", "u._op"} & set(rows[0])
            assert found == {0: "first 0", 1: "new", 2: None, 3: "back"}
            put(tmp_path / "users/4.json", envelope("d", {"id": 0}), envelope("c", {"id": 2, "name": "again"}))
        else:
            assert found == {0: None, 1: "new", 2: "again", 3: "back"}
    assert set(dead_letters(tmp_path)) == {b"garbage", b'{"op": "c"}'}


def test_a_version_that_was_deleted_ends_the_one_before(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"""
    CREATE TABLE prices (sku STRING, price INT, _changed_at TIMESTAMP, PRIMARY KEY (sku)) WITH (
      'connector' = 'files', 'path' = '{tmp_path}/prices', 'format' = 'debezium', 'event.time.field' = '_changed_at');
    CREATE STREAM sales (sku STRING, at BIGINT) WITH (
      'connector' = 'files', 'path' = '{tmp_path}/sales', 'format' = 'json', 'event.time.field' = 'at');
    CREATE STREAM out AS
      SELECT s.at, p.price FROM sales s LEFT JOIN prices FOR SYSTEM_TIME AS OF timestamp_millis(s.at) AS p ON s.sku = p.sku
      WITH ('connector' = 'memory');
    """
    row = {"sku": "a", "price": 1}
    put(tmp_path / "prices/1.json", envelope("c", row, 0), envelope("u", {**row, "price": 2}, 10_000), envelope("d", row, 20_000))
    put(tmp_path / "prices/2.json", envelope("c", {**row, "price": 3}, 30_000))
    put(tmp_path / "sales/1.json", *({"sku": "a", "at": AT + at * 1000} for at in (-5, 5, 15, 25, 35)))
    found = run(spark, sql, tmp_path)
    assert [(row["at"] - AT, row["price"]) for row in found] == [(-5000, None), (5000, 1), (15_000, 2), (25_000, None), (35_000, 3)]


def test_a_stream_has_a_row_for_each_change(spark: SparkSession, tmp_path: Path) -> None:
    """Among them what a sum needs to follow updates and deletes, and the file that a row came from."""
    sql = f"""
    CREATE STREAM orders (id INT, amount DECIMAL(10, 2), at TIMESTAMP, _before STRUCT<amount DECIMAL(10, 2)>, _changed_at TIMESTAMP) WITH (
      'connector' = 'files', 'path' = '{tmp_path}/orders', 'format' = 'debezium', 'event.time.field' = '_changed_at');
    CREATE STREAM out AS
      SELECT COUNT(*) AS n, COUNT_IF(_op = 'd') AS gone, MAX(at) AS at, MIN(_topic) AS f,
             SUM(CASE WHEN _op = 'd' THEN 0 ELSE amount END) - SUM(COALESCE(_before.amount, 0)) AS total
      FROM orders WINDOW TUMBLING(1m)
      WITH ('connector' = 'memory');
    """
    first, second = {"id": 1, "amount": 10.25, "at": AT * 1000}, {"id": 2, "amount": 5, "at": AT * 1000 + 1}
    changed = {**first, "amount": 11.5}
    put(tmp_path / "orders/1.json", envelope("c", first), envelope("c", second), envelope("u", changed, 1000, first), "no")
    put(tmp_path / "orders/2.json", envelope("d", second, 2000), {"op": "u", "after": None})
    found = run(spark, sql, tmp_path)
    assert [(row["n"], row["gone"], float(row["total"])) for row in found] == [(4, 1, 11.5)]
    assert found[0]["at"].timestamp() == AT / 1000 + 1e-6
    assert found[0]["f"].endswith("/orders/1.json")
    assert dead_letters(tmp_path) == [b"no", b'{"op": "u", "after": null}']
