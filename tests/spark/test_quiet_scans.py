"""A line that is no JSON is a dead letter, not sixty lines of Spark's in the log of a session that somebody handed over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import windrow
from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("WARN")
print("job begins", file=sys.stderr, flush=True)
jobs = windrow.run(
    f"CREATE STREAM t (k STRING, v INT, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json',"
    "  'event.time.field' = 'ts');"
    "SELECT k, SUM(v) AS v FROM t GROUP BY k WINDOW TUMBLING(1m)",
    spark=spark, mode="until_end", state=folder + "/state",
)
jobs.await_end()
print("dead letters:", jobs.status()[0].dead_letters)
print("job ends", file=sys.stderr, flush=True)
try:
    spark.read.option("mode", "FAILFAST").schema("k string, v int").json(folder + "/in").collect()
except Exception:
    print("own job failed")
"""


def test_a_bad_line_is_not_logged_as_a_failure_but_the_users_own_failures_are(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    good = '{"k": "a", "v": 1, "ts": "2026-01-05T09:30:02Z"}'
    (tmp_path / "in" / "1.json").write_text(f'{good}\n{{"k": "a", "v": bad}}\n{good}\n')
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "dead letters: 1" in done.stdout
    assert "own job failed" in done.stdout
    while_it_ran = done.stderr.partition("job begins")[2].partition("job ends")[0]
    afterwards = done.stderr.partition("job ends")[2]
    assert "ERROR" not in while_it_ran
    assert "Lost task" not in while_it_ran
    assert "ERROR Executor" in afterwards
    assert "Lost task" in afterwards
