"""Compacted topics as reference data."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.topics import Record, Runner, only, options, send


def test_a_table_has_the_latest_row_of_each_key_without_those_taken_back(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    users = broker.topic(partitions=2, cleanup_policy="compact")
    clicks = broker.topic(partitions=1)
    send(broker, users, [Record({"id": n, "name": f"first {n}"}, n % 2, str(n).encode()) for n in range(4)])
    send(broker, users, [Record({"id": 1, "name": "new"}, 1, b"1"), Record(None, 0, b"2"), Record(None, 1, b"3")])
    send(broker, users, [Record({"id": 3, "name": "back"}, 1, b"3"), Record(b"garbage", 0, b"9")])
    send(broker, clicks, [Record({"who": n}) for n in range(5)])
    sql = f"""
    CREATE TABLE users (id INT, name STRING, PRIMARY KEY (id)) WITH ({options(broker, users)});
    CREATE STREAM clicks (who INT) WITH ({options(broker, clicks)});
    CREATE STREAM out AS SELECT who, name FROM clicks LEFT JOIN users ON who = id WITH ('connector' = 'memory');
    """
    run = Runner(spark, tmp_path)
    assert only(run.rows(sql), "who", "name") == [(0, "first 0"), (1, "new"), (2, None), (3, "back"), (4, None)]
    assert only(run.dead_letters(), "source", "raw") == [("users", b"garbage")]
