"""A script with a ``SparkSession`` of its own, in an environment that nobody has activated: what workers lack is said, or done without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.driving import SMALL, Driver
from tests.cluster.standalone import Standalone
from tests.cluster.stores import put
from tests.cluster.test_workers import GENERATED, WINDOWS

SCRIPT = """
import sys
import windrow
from pyspark.sql import SparkSession

builder = SparkSession.builder.master(sys.argv[1])
for setting in sys.argv[4:]:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("FATAL")
try:
    jobs = windrow.run(open(sys.argv[2]).read(), spark=spark, mode="until_end", state=sys.argv[3], keep=100)
    jobs.await_end()
    print("rows", sorted((row["k"], row["n"]) for row in jobs.output().to_arrow().to_pylist()))
except windrow.WindrowError as error:
    print(error)
"""
ROWS = '{"k": "a", "ts": 1}\n{"k": "b", "ts": 2}\n{broken\n{"k": "a", "ts": 120000}\n'


def _files(root: str) -> str:
    time = "'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis'"
    stream = f"CREATE STREAM s (k STRING, ts BIGINT) WITH ('connector' = 'files', 'path' = '{root}/in', 'format' = 'json', {time});"
    return f"{stream} SELECT k, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(1m)"


@pytest.fixture
def rows(hdfs: str, tmp_path: Path) -> str:
    path = tmp_path / "a.json"
    path.write_text(ROWS, encoding="utf-8")
    put(f"{hdfs}/scripts", {"in/a.json": path})
    return f"{hdfs}/scripts"


def test_json_is_decoded_without_pyarrow_on_the_workers(driver: Driver, cluster: Standalone, rows: str) -> None:
    said = _run(driver, cluster.url, _files(rows), "decoded")
    assert "rows [('a', 1), ('a', 1), ('b', 1)]" in said, said


def test_what_cannot_do_without_is_refused_with_the_worker(driver: Driver, cluster: Standalone) -> None:
    said = _run(driver, cluster.url, f"{GENERATED} {WINDOWS}", "refused")
    assert "[WR608] the source clicks (generator) needs pyarrow, windrow on Spark's workers; /usr/bin/python3 on 10.213." in said, said
    assert "WR999" not in said


def test_on_one_machine_it_is_the_same(driver: Driver, rows: str) -> None:
    """Workers of a local master run the ``python3`` of the system, which has neither PySpark nor Arrow."""
    assert "rows [('a', 1), ('a', 1), ('b', 1)]" in _run(driver, "local[2]", _files(rows), "local-decoded")
    said = _run(driver, "local[2]", f"{GENERATED} {WINDOWS}", "local-refused")
    assert "[WR608] the source clicks (generator) needs pyarrow, windrow on Spark's workers; " in said, said
    assert "on this machine has no pyarrow" in said
    assert "os.environ['PYSPARK_PYTHON'] = sys.executable" in said


def _run(driver: Driver, master: str, sql: str, name: str) -> str:
    script, file = driver.write(f"scripts/{name}.py", SCRIPT), driver.write(f"scripts/{name}.sql", sql)
    settings = {} if master.startswith("local") else {**SMALL, "spark.driver.host": driver.host.address}
    running = driver.start_python(script, master, file, f"/tmp/state/{name}", *(f"{key}={value}" for key, value in settings.items()))
    assert running.process.wait(300) == 0, running.said
    return running.said
