"""Compacted topics as reference data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.topics import Record, Runner, only, options, send
from windrow.connectors.kafka.table import Span, span_of


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


def test_a_refresh_reads_only_what_came_since(broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed, new and taken back, also over a restart; records that were read are not read again."""
    users = broker.topic(partitions=2, cleanup_policy="compact")
    clicks = broker.topic(partitions=1)
    send(broker, users, [Record({"id": n, "name": f"first {n}"}, n % 2, str(n).encode()) for n in range(4)])
    sql = f"""
    CREATE TABLE users (id INT, name STRING, PRIMARY KEY (id)) WITH ({options(broker, users, refresh__interval="1ms")});
    CREATE STREAM clicks (who INT) WITH ({options(broker, clicks)});
    CREATE STREAM out AS SELECT who, name FROM clicks LEFT JOIN users ON who = id WITH ('connector' = 'memory');
    """
    spans: list[Span] = []

    def noted(*args: Any) -> Span:
        spans.append(span_of(*args))
        return spans[-1]

    monkeypatch.setattr("windrow.connectors.kafka.source.span_of", noted)
    run = Runner(spark, tmp_path)
    click = [Record({"who": n}) for n in range(5)]
    send(broker, clicks, click)
    assert only(run.rows(sql, "once"), "who", "name") == [(0, "first 0"), (1, "first 1"), (2, "first 2"), (3, "first 3"), (4, None)]
    send(broker, users, [Record({"id": 1, "name": "new"}, 1, b"1"), Record(None, 0, b"2"), Record(None, 1, b"3")])
    send(broker, users, [Record({"id": 3, "name": "back"}, 1, b"3"), Record({"id": 4, "name": "more"}, 0, b"4")])
    send(broker, clicks, click)
    after = [(0, "first 0"), (1, "new"), (2, None), (3, "back"), (4, "more")]
    assert only(run.rows(sql, "once"), "who", "name") == after
    send(broker, clicks, click)
    assert only(run.rows(sql, "once"), "who", "name") == after
    assert [span.is_increment for span in spans] == [False, *(True for _ in spans[1:])]
    assert spans[1].start == {users: {"0": 2, "1": 2}}
    assert spans[-1].is_empty
