"""kill -9 of a job that writes to PostgreSQL, at random moments: what is in the table is what an undisturbed run leaves."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from windrow.local.postgres import PostgresServer

pytestmark = pytest.mark.integration

KILLS = 3
FILES = 12
SQL = """
CREATE STREAM trades (symbol STRING, price BIGINT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
CREATE STREAM totals AS SELECT symbol, COUNT(*) AS n, SUM(price) AS total FROM trades GROUP BY symbol EMIT CHANGES PER BATCH
  WITH ('connector' = 'postgres', 'url' = '{url}', 'table' = '{name}_totals', 'table.create' = 'true');
CREATE STREAM dear AS SELECT symbol, price, ts FROM trades WHERE price > 50
  WITH ('connector' = 'postgres', 'url' = '{url}', 'table' = '{name}_dear', 'table.create' = 'true');
"""


def _write_trades(folder: Path) -> None:
    rng = random.Random(7)
    folder.mkdir()
    for number in range(FILES):
        path = folder / f"{number:04d}.json"
        made = [{"symbol": rng.choice("ABC"), "price": rng.randrange(100), "ts": 1_700_000_000_000 + number * 1000 + i} for i in range(50)]
        path.write_text("".join(json.dumps(row) + "\n" for row in made))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _start(folder: Path, server: PostgresServer, name: str) -> subprocess.Popen[bytes]:
    sql = folder / f"{name}.sql"
    sql.write_text(SQL.format(folder=folder, url=server.dsn, name=name))
    command = [sys.executable, "-m", "windrow", "run", str(sql), "--until-end", "--state", str(folder / name), "--quiet"]
    command += ["--master", "local[2]", "--set", "spark.sql.shuffle.partitions=2", "--set", "spark.ui.enabled=false"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def _commits(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("*/checkpoint/commits/*") if path.name.isdigit()), default=-1)


def _outcome(server: PostgresServer, name: str) -> tuple[list[object], list[object]]:
    totals = server.rows(f"SELECT symbol, n, total FROM {name}_totals ORDER BY 1")
    return list(totals), list(server.rows(f"SELECT symbol, price, ts FROM {name}_dear ORDER BY ts"))


def _finish(process: subprocess.Popen[bytes]) -> None:
    said, _ = process.communicate(timeout=240)
    assert process.returncode == 0, said.decode()


@pytest.mark.slow
def test_a_killed_job_leaves_what_an_undisturbed_one_leaves(postgres: PostgresServer, tmp_path: Path) -> None:
    _write_trades(tmp_path / "in")
    _finish(_start(tmp_path, postgres, "calm"))
    rng = random.Random(11)
    for _ in range(KILLS):
        process = _start(tmp_path, postgres, "killed")
        wanted = _commits(tmp_path / "killed") + 1 + rng.randrange(3)
        deadline = time.monotonic() + 120
        while process.poll() is None and _commits(tmp_path / "killed") < wanted and time.monotonic() < deadline:
            time.sleep(0.005)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    _finish(_start(tmp_path, postgres, "killed"))
    calm, killed = _outcome(postgres, "calm"), _outcome(postgres, "killed")
    assert calm[1], "there is something to compare"
    assert killed == calm
