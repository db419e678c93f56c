"""What ``windrow state show`` finds in the folder of a job that joins."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from typer.testing import CliRunner

from windrow.cli.main import app
from windrow.compiler import compile_sql
from windrow.jobs.history import JobHistory
from windrow.jobs.identity import STATE
from windrow.spark.state.job_state import JobState
from windrow.spark.state.state_store import StateStore
from windrow.storage import LocalFolder, folder_name
from windrow.windowing.columns import COUNT, END, SINCE, START, TIME
from windrow.windowing.joins import HELD, ID, MATCHED
from windrow.windowing.retry_buffer import NUMBER, WAITING
from windrow.windowing.step import Tables

SQL = """
CREATE STREAM orders (id BIGINT, customer BIGINT) WITH ('connector' = 'files', 'path' = 'o', 'format' = 'json');
CREATE STREAM payments (customer BIGINT) WITH ('connector' = 'files', 'path' = 'p', 'format' = 'json');
CREATE TABLE names (customer BIGINT, name STRING) WITH ('connector' = 'files', 'path' = 'n', 'format' = 'json');
SELECT o.id, n.name FROM orders o LEFT JOIN payments p WITHIN (5s, 10s) ON o.customer = p.customer JOIN names n ON n.customer = o.customer
WITH ('join.on_missing' = 'wait', 'join.wait.timeout' = '1m');
"""
SECOND = 1_000_000


def _held(*rows: tuple[int, int]) -> pl.DataFrame:
    numbered = [(number, customer, at * SECOND, False) for number, (customer, at) in enumerate(rows)]
    return pl.DataFrame(numbered, schema={ID: pl.Int64, "_j0": pl.Int64, TIME: pl.Int64, MATCHED: pl.Boolean}, orient="row")


def test_rows_that_wait_for_a_partner_or_a_table_are_shown(tmp_path: Path) -> None:
    (job,) = compile_sql(SQL, "q.sql", env={}).plan.jobs
    path = tmp_path / "state" / folder_name(job.name)
    waiting = pl.DataFrame({NUMBER: [0, 1], SINCE: [7 * SECOND, 7 * SECOND]})
    tables: dict[str, Tables] = {
        "out/join#left": {HELD: _held((1, 1), (2, 2), (1, 3))},
        "out/join#right": {HELD: _held((9, 4))},
        "out/join2": {WAITING: waiting},
    }
    StateStore(LocalFolder(path).child(STATE)).snapshot(JobState(4, tables))
    (path / "job.json").write_text("{}")

    batch, (pairs, room) = JobHistory(job, tmp_path / "state").open_state(None)

    assert batch == 4
    assert pairs.windows is not None
    assert room.windows is not None
    shown = pairs.windows.sort("waits", "o.customer").rows()
    assert shown == [
        ("orders", "1", SECOND, 13 * SECOND, 2),
        ("orders", "2", 2 * SECOND, 12 * SECOND, 1),
        ("payments", "9", 4 * SECOND, 9 * SECOND, 1),
    ]
    assert room.windows.select(START, END, COUNT).rows() == [(7 * SECOND, 67 * SECOND, 2)]

    (tmp_path / "q.sql").write_text(SQL)
    result = CliRunner().invoke(app, ["state", "show", str(tmp_path / "q.sql"), "--state", str(tmp_path / "state")])
    assert result.exit_code == 0, result.output
    assert "out/join: 3 open" in result.output
    assert "out/join2: 1 open" in result.output
