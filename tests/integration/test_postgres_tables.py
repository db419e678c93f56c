"""Tables of a real PostgreSQL server as reference data: loaded, refreshed, and the same again when a batch runs again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from windrow.compiler import compile_sql
from windrow.errors import JobError, WindrowError
from windrow.jobs import RunOptions, start
from windrow.jobs.runner import RunningJob
from windrow.local.postgres import PostgresServer
from windrow.observe.status import JobStatus, TableLoad

pytestmark = pytest.mark.integration

_numbers = count()


class Orders:
    """A job that completes orders from a table ``customers`` and writes them to files; each ``run`` takes what is there."""

    def __init__(self, spark: SparkSession, server: PostgresServer, folder: Path) -> None:
        self.spark = spark
        self.server = server
        self.folder = folder
        self.table = f"customers_{next(_numbers)}"
        self.loads: list[TableLoad] = []
        (folder / "orders").mkdir()

    def sql(self, options: str = "", columns: str = "id BIGINT, name STRING", query: str = "") -> str:
        return f"""
        CREATE STREAM orders (id BIGINT, customer BIGINT) WITH ('connector' = 'files', 'path' = '{self.folder}/orders', 'format' = 'json');
        CREATE TABLE customers ({columns}, PRIMARY KEY (id)) WITH (
          'connector' = 'postgres', 'url' = '{self.server.dsn}', 'table' = '{self.table}'{options});
        CREATE STREAM named AS SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id
          WITH ('connector' = 'files', 'path' = '{self.folder}/out', 'format' = 'json'{query})
        """

    def order(self, *customers: int) -> None:
        number = next(_numbers)
        path = self.folder / "orders" / f"{number}.json"
        path.write_text("".join(json.dumps({"id": 10 * c, "customer": c}) + "\n" for c in customers))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))

    def run(self, sql: str) -> JobStatus:
        jobs = start(compile_sql(sql), RunOptions("once", self.folder / "state"), self.spark, self.loads.append)
        jobs.await_end(60)
        return jobs.status()[0]

    def out(self) -> list[tuple[int, str | None]]:
        lines = [json.loads(line) for path in (self.folder / "out").glob("*.json") for line in path.read_text().splitlines()]
        return sorted(((line["id"], line["name"]) for line in lines), key=str)


@pytest.fixture
def orders(spark: SparkSession, postgres: PostgresServer, tmp_path: Path) -> Orders:
    made = Orders(spark, postgres, tmp_path)
    postgres.execute(
        f"CREATE TABLE {made.table} (id bigint PRIMARY KEY, name text, updated_at timestamptz DEFAULT now())",
        f"INSERT INTO {made.table} (id, name) VALUES (1, 'one'), (2, 'two')",
    )
    return made


def test_a_table_is_loaded_before_the_first_row(orders: Orders) -> None:
    orders.order(1, 2, 3)
    status = orders.run(orders.sql())
    assert orders.out() == [(10, "one"), (20, "two"), (30, None)]
    assert status.ledger.sources["customers"].rows_in == 2
    assert status.ledger.is_balanced
    assert [(load.table, load.rows) for load in orders.loads if load.is_done] == [("customers", 2)]


def test_every_type_is_read_as_it_was_written(orders: Orders, postgres: PostgresServer, spark: SparkSession) -> None:
    postgres.execute(
        "DROP TABLE IF EXISTS kinds",
        "CREATE TABLE kinds (id bigint PRIMARY KEY, flag boolean, exact numeric(30,10), x double precision, raw bytea, day date,"
        " at timestamptz, numbers int[], deep jsonb, who uuid)",
        "INSERT INTO kinds VALUES (1, true, 12345678901234567890.0123456789, 'NaN', '\\x00ff', '2024-02-29',"
        " '2024-02-29 12:00:00.123456+02', '{1,NULL,3}', '{\"a\": [1, 2]}', '00000000-0000-0000-0000-000000000001')",
        "INSERT INTO kinds (id) VALUES (2)",
    )
    orders.order(1, 2)
    columns = (
        "id BIGINT, flag BOOLEAN, exact DECIMAL(30, 10), x DOUBLE, raw BINARY, day DATE, at TIMESTAMP, numbers ARRAY<INT>,"
        " deep STRUCT<a: ARRAY<INT>>, who STRING"
    )
    sql = f"""
    CREATE STREAM orders (id BIGINT, customer BIGINT) WITH ('connector' = 'files', 'path' = '{orders.folder}/orders', 'format' = 'json');
    CREATE TABLE kinds ({columns}, PRIMARY KEY (id)) WITH ('connector' = 'postgres', 'url' = '{postgres.dsn}', 'table' = 'kinds');
    CREATE STREAM o AS SELECT k.* FROM orders o JOIN kinds k ON o.customer = k.id
      WITH ('connector' = 'files', 'path' = '{orders.folder}/out', 'format' = 'parquet')
    """
    orders.run(sql)
    first, second = sorted(
        (row.asDict(recursive=True) for row in spark.read.parquet(f"{orders.folder}/out").collect()), key=lambda r: r["id"]
    )
    at = first.pop("at")
    assert isinstance(at, datetime)
    assert str(first.pop("exact")) == "12345678901234567890.0123456789"
    assert str(first.pop("x")) == "nan"
    assert first == {
        "id": 1, "flag": True, "raw": bytearray(b"\x00\xff"), "day": datetime(2024, 2, 29).date(), "numbers": [1, None, 3],  # noqa: DTZ001
        "deep": {"a": [1, 2]}, "who": "00000000-0000-0000-0000-000000000001",
    }  # fmt: skip
    assert {name: value for name, value in second.items() if value is not None} == {"id": 2}


def test_a_refresh_by_a_column_asks_only_for_what_is_new(orders: Orders, postgres: PostgresServer) -> None:
    sql = orders.sql(", 'refresh.interval' = '1ms', 'refresh.column' = 'updated_at'")
    orders.order(1)
    orders.run(sql)
    postgres.execute(
        f"UPDATE {orders.table} SET name = 'ONE', updated_at = now() WHERE id = 1",
        f"INSERT INTO {orders.table} VALUES (3, 'three', now())",
        f"UPDATE {orders.table} SET name = 'not seen', updated_at = '2000-01-01' WHERE id = 2",
    )
    orders.order(1, 2, 3)
    status = orders.run(sql)
    assert orders.out() == [(10, "ONE"), (10, "one"), (20, "two"), (30, "three")]
    assert status.ledger.sources["customers"].rows_in == 4
    assert status.ledger.is_balanced
    kept = sorted(path.name for path in (orders.folder / "state").glob("*/tables/customers/*"))
    assert kept == ["0000000000.whole", "0000000001.part"]


def test_a_whole_refresh_sees_what_was_deleted_and_nothing_new_costs_nothing(orders: Orders, postgres: PostgresServer) -> None:
    sql = orders.sql(", 'refresh.interval' = '1ms'")
    orders.order(1)
    orders.run(sql)
    orders.order(2)
    orders.run(sql)
    assert len(list((orders.folder / "state").glob("*/tables/customers/*"))) == 1, "nothing had changed"
    postgres.execute(f"DELETE FROM {orders.table} WHERE id = 2")
    orders.order(2)
    orders.run(sql)
    assert orders.out() == [(10, "one"), (20, "two"), (20, None)]


def test_a_batch_that_runs_again_finds_the_tables_as_they_were(
    orders: Orders, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = orders.sql(", 'refresh.interval' = '1ms'")
    orders.order(1)
    orders.run(sql)
    postgres.execute(f"UPDATE {orders.table} SET name = 'first try' WHERE id = 1")
    orders.order(1)
    whole: Callable[..., None] = RunningJob._commit

    def die(_job: RunningJob, _result: Any, *, is_end: bool = False) -> None:
        raise RuntimeError("killed before anything was written")

    monkeypatch.setattr(RunningJob, "_commit", die)
    with pytest.raises(JobError):
        orders.run(sql)
    monkeypatch.setattr(RunningJob, "_commit", whole)
    postgres.execute(f"UPDATE {orders.table} SET name = 'second try' WHERE id = 1")
    status = orders.run(sql)
    assert orders.out() == [(10, "first try"), (10, "one")]
    assert status.ledger.sources["customers"].rows_in == 4, "the load that was not committed is counted by the run that was"
    orders.order(1)
    orders.run(sql)
    assert orders.out()[-1] == (10, "second try")


def test_without_a_refresh_the_table_is_loaded_with_each_start(orders: Orders, postgres: PostgresServer) -> None:
    orders.order(3)
    orders.run(orders.sql())
    postgres.execute(f"INSERT INTO {orders.table} VALUES (3, 'three')")
    orders.order(3)
    orders.run(orders.sql())
    assert orders.out() == [(30, "three"), (30, None)]
    assert not list((orders.folder / "state").glob("*/tables/customers/*"))


def test_while_the_server_is_away_the_rows_that_were_loaded_stay_in_force(orders: Orders, postgres: PostgresServer) -> None:
    sql = orders.sql(", 'refresh.interval' = '1ms', 'retry.timeout' = '1s'")
    orders.order(1)
    orders.run(sql)
    postgres.stop()
    try:
        orders.order(2)
        status = orders.run(sql)
    finally:
        postgres.start()
    assert orders.out() == [(10, "one"), (20, "two")]
    assert "customers" in status.stale_tables


def test_a_column_that_is_gone_at_a_refresh_is_told_and_the_rows_stay_in_force(orders: Orders, postgres: PostgresServer) -> None:
    sql = orders.sql(", 'refresh.interval' = '1ms'")
    orders.order(1)
    orders.run(sql)
    postgres.execute(f"ALTER TABLE {orders.table} RENAME COLUMN name TO called")
    orders.order(2)
    status = orders.run(sql)
    assert orders.out() == [(10, "one"), (20, "two")]
    assert 'has no column "name"' in status.stale_tables["customers"]


def test_a_stream_waits_for_a_table_that_is_not_there_yet(orders: Orders, postgres: PostgresServer) -> None:
    postgres.execute(f"DROP TABLE {orders.table}")
    orders.order(1)
    started = time.monotonic()
    with pytest.raises(JobError, match=r"(?s)WR830.*there is no table"):
        orders.run(orders.sql(query=", 'table.wait.timeout' = '1s'"))
    assert time.monotonic() - started > 1


@pytest.mark.parametrize(
    ("options", "columns", "code"),
    [
        (", 'password' = 'wrong'", "id BIGINT, name STRING", "WR871"),
        ("", "id BIGINT, nam STRING, name STRING", "WR873"),
        (", 'refresh.interval' = '1m', 'refresh.column' = 'changed'", "id BIGINT, name STRING", "WR873"),
    ],
)
def test_what_no_waiting_mends_is_said_at_once(orders: Orders, options: str, columns: str, code: str) -> None:
    orders.order(1)
    started = time.monotonic()
    with pytest.raises(WindrowError) as caught:
        orders.run(orders.sql(options, columns))
    assert caught.value.code == code
    assert time.monotonic() - started < 20
