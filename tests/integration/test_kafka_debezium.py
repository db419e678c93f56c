"""Envelopes of Debezium in topics: tables with deletes and tombstones, refreshed over a restart, and streams of changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.topics import Record, Runner, only, options, send

AT = 1_700_000_000_000


def change(op: str, row: dict[str, Any], partition: int = 0) -> list[Record]:
    """What Debezium sends: an envelope, and after a delete a tombstone."""
    key = str(row["id"]).encode()
    images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
    value = {"schema": None, "payload": {**images, "op": op, "source": {"ts_ms": AT}, "ts_ms": AT}}
    return [Record(value, partition, key), *([Record(None, partition, key)] if op == "d" else ())]


def test_a_table_of_changes_and_its_refresh(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    users, clicks = broker.topic(partitions=2, cleanup_policy="compact"), broker.topic(partitions=1)
    sql = f"""
    CREATE TABLE users (id INT, name STRING, PRIMARY KEY (id)) WITH ({options(broker, users, format="debezium", refresh__interval="1ms")});
    CREATE STREAM clicks (who INT) WITH ({options(broker, clicks)});
    CREATE STREAM out AS SELECT who, name FROM clicks LEFT JOIN users ON who = id WITH ('connector' = 'memory');
    """
    run, click = Runner(spark, tmp_path), [Record({"who": n}) for n in range(4)]
    for n in range(4):
        send(broker, users, change("r", {"id": n, "name": f"first {n}"}, n % 2))
    send(broker, users, [*change("u", {"id": 1, "name": "new"}, 1), *change("d", {"id": 2}, 0), Record(b"garbage", 0, b"9")])
    send(broker, clicks, click)
    assert only(run.rows(sql, "once"), "who", "name") == [(0, "first 0"), (1, "new"), (2, None), (3, "first 3")]
    send(broker, users, [*change("d", {"id": 3}, 1), *change("c", {"id": 2, "name": "back"}, 0)])
    send(broker, users, [*change("c", {"id": 9, "name": "short"}, 1), *change("d", {"id": 9}, 1), *change("d", {"id": 0}, 0)])
    send(broker, clicks, [*click, Record({"who": 9})])
    after = [(0, None), (1, "new"), (2, "back"), (3, None), (9, None)]
    assert only(run.rows(sql, "once"), "who", "name") == after
    send(broker, clicks, [*click, Record({"who": 9})])
    assert only(run.rows(sql, "once"), "who", "name") == after
    assert only(run.dead_letters(), "source", "raw") == [("users", b"garbage")]


def test_a_stream_of_changes(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    topic = broker.topic(partitions=1)
    row = {"id": 1, "name": "a"}
    send(broker, topic, [*change("c", row), *change("d", row), Record({"payload": {"op": "t"}}), *change("c", row)])
    sql = f"""
    CREATE STREAM s (id INT, name STRING) WITH ({options(broker, topic, format="debezium")});
    CREATE STREAM out AS SELECT *, _key AS k, _offset AS o FROM s WITH ('connector' = 'memory');
    """
    run = Runner(spark, tmp_path)
    assert only(run.rows(sql), "id", "name", "_op", "k", "o") == [(1, "a", "c", "1", 0), (1, "a", "d", "1", 1), (1, "a", "c", "1", 4)]
    assert only(run.dead_letters(), "offset", "raw") == [(3, b'{"payload": {"op": "t"}}')]
