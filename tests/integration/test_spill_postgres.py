"""A PostgreSQL server that is stopped while a job runs: its rows wait, the other output goes on, and the table ends with each row once."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

import windrow
from tests.integration.topics import until
from windrow.local.postgres import PostgresServer
from windrow.observe.status import UP

SQL = """
CREATE STREAM s (v INT) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1');
CREATE STREAM spilled AS SELECT v FROM s
  WITH ('connector' = 'postgres', 'url' = '{dsn}', 'table' = 'spilled', 'table.create' = 'true',
        'on.unavailable' = 'spill', 'write.timeout' = '2s');
CREATE STREAM archive AS SELECT v * 10 AS v FROM s WITH ('connector' = 'files', 'path' = '{folder}/archive', 'format' = 'json');
"""


def _feed(folder: Path, number: int, *values: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    part = folder / "in" / f".{number}.part"
    part.write_text("".join(json.dumps({"v": value}) + "\n" for value in values))
    part.rename(folder / "in" / f"{number}.json")


def _archived(folder: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in (folder / "archive").glob("batch-*.json"))


def test_rows_wait_for_a_server_that_is_stopped(spark: SparkSession, postgres: PostgresServer, tmp_path: Path) -> None:
    _feed(tmp_path, 0, 1, 2)
    jobs = windrow.run(SQL.format(folder=tmp_path, dsn=postgres.dsn), spark=spark, state=tmp_path / "state")
    try:
        until(lambda: _archived(tmp_path) == 2, 300, jobs.status)
        postgres.stop()
        try:
            _feed(tmp_path, 1, 3)
            _feed(tmp_path, 2, 4, 5)
            until(lambda: _archived(tmp_path) == 5, 300, jobs.status)
            until(lambda: jobs.status()[0].outputs[0].waiting_rows == 3, 300, jobs.status)
        finally:
            postgres.start()
        until(lambda: jobs.status()[0].outputs[0].state == UP, 300, jobs.status)
        status = jobs.status()[0]
        assert (status.outputs[0].waiting_rows, status.outputs[0].spilled) == (0, 3)
        assert status.ledger.is_balanced
    finally:
        jobs.stop()
    assert postgres.rows("SELECT v FROM spilled ORDER BY v") == [(value,) for value in range(1, 6)]
