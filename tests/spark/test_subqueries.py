"""Subqueries in a job that reads its tables from files, where a micro-batch has a session of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.errors import JobError

SQL = """
CREATE STREAM orders (id BIGINT, customer BIGINT) WITH ('connector' = 'files', 'path' = '{folder}/orders', 'format' = 'json');
CREATE TABLE customers (id BIGINT, name STRING) WITH ('connector' = 'files', 'path' = '{folder}/customers', 'format' = 'json');
CREATE STREAM named AS
  SELECT id, (SELECT name FROM customers c WHERE c.id = customer) AS name FROM orders WHERE customer IN (SELECT id FROM customers)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


def _write(folder: Path, rows: list[dict[str, Any]]) -> None:
    folder.mkdir()
    (folder / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _run(spark: SparkSession, folder: Path, customers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    _write(folder / "orders", [{"id": 10, "customer": 1}, {"id": 11, "customer": 2}])
    _write(folder / "customers", customers)
    jobs = windrow.run(SQL.format(folder=folder), spark=spark, state=folder / "state", mode="until_end")
    assert jobs.await_end(120)
    return [json.loads(line) for path in sorted((folder / "out").glob("batch-*.json")) for line in path.read_text().splitlines()]


def test_tables_of_files_are_asked(spark: SparkSession, tmp_path: Path) -> None:
    found = _run(spark, tmp_path, [{"id": 1, "name": "ann"}])
    assert [(row["id"], row["name"]) for row in found] == [(10, "ann")]


def test_a_value_of_several_rows_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="gave more than one row") as caught:
        _run(spark, tmp_path, [{"id": 1, "name": "ann"}, {"id": 1, "name": "bob"}])
    assert caught.value.code == "WR832"
