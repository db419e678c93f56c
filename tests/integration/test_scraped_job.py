"""A job that runs and listens is scraped by a real Prometheus, and its alerts reach a real Alertmanager."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.integration.prometheus import IS_INSTALLED, await_that, free_port, json_of, promtool, watching

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="Prometheus is not installed")
# 2026-01-05 09:30:00, in milliseconds
START = 1_767_605_400_000
SQL = """-- @name: shop
CREATE STREAM orders (customer STRING, amount DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = 'in', 'format' = 'json', 'event.time.field' = 'ts', 'watermark.delay' = '1s');
-- @metric: dear
-- @metric_labels: customer
-- @metric_condition: orders > 1
-- @metric: revenue
-- @metric_type: histogram
-- @metric_field: revenue
-- @metric_buckets: 10, 100
-- @alert: ManyOrders
-- @alert_condition: dear >= 2 AND windrow_rows_in_total > 5
-- @alert_level: critical
-- @alert_text: customers order again and again
CREATE STREAM sums AS SELECT customer, SUM(amount) AS revenue, COUNT(*) AS orders FROM orders GROUP BY customer WINDOW TUMBLING(10s)
WITH ('connector' = 'files', 'path' = 'out', 'format' = 'json');
"""


def _write(folder: Path, name: str, seconds: range) -> None:
    rows = [{"customer": f"c{n % 2}", "amount": 10.0, "ts": START + 1000 * n} for n in seconds]
    whole = folder / f"{name}.part"
    whole.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"customer": "none", "ts": "soon"}]))
    whole.rename(folder / "in" / f"{name}.json")


def _windrow(*words: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-m", "windrow", *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def _job(folder: Path, address: str) -> Iterator[Path]:
    log = folder / "job.log"
    command = [sys.executable, "-m", "windrow", "run", "shop.sql", "--listen", address, "--trigger-interval", "1s"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, env=dict(os.environ))
        try:
            yield log
        finally:
            process.terminate()
            process.wait(120)


def test_a_running_job_is_scraped_and_its_alert_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "shop.sql").write_text(SQL)
    rules = _windrow("ops", "rules", "shop.sql", folder=tmp_path)
    (tmp_path / "checked.yml").write_text(rules)
    checked = promtool("check", "rules", str(tmp_path / "checked.yml"))
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    _write(tmp_path, "first", range(4))
    address = f"127.0.0.1:{free_port()}"
    with _job(tmp_path, address) as log, watching(address, yaml.safe_load(rules), tmp_path) as watched:
        await_that(lambda: watched.value("windrow_rows_in_total") == 5, lambda: "the first rows are not scraped", log)
        assert (json_of(f"http://{address}/health/ready") or {}).get("ok") is True
        assert not watched.told()
        _write(tmp_path, "second", range(4, 40))
        await_that(lambda: watched.told() == {("ManyOrders", "shop", "critical")}, lambda: f"told: {watched.told()}", log)
        # Three windows of two customers are over: each has five orders.
        found = {what: watched.value(what) for what in ("sum(dear_total)", "revenue_sum", "revenue_count", "sum(windrow_rows_in_total)")}
        assert found == {"sum(dear_total)": 6, "revenue_sum": 300, "revenue_count": 6, "sum(windrow_rows_in_total)": 42}
        # Both lines that cannot be read are accounted for, in Prometheus as well.
        assert watched.value("windrow_rows_in_total%20-%20on(job_name)%20windrow_rows_passed_total") == 2
        assert watched.value("windrow_dead_letters_total") == 2
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        told = promtool("check", "metrics", given=text)
        assert (told.returncode, told.stdout + told.stderr) == (0, "")
        top = _windrow("top", "shop.sql", "--once", folder=tmp_path)
        assert [line.split()[:3] for line in top.splitlines() if "again and again" in line] == [["ManyOrders", "firing", "critical"]]
