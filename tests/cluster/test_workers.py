"""What workers lack is said before a batch runs, with the worker and what to do; a packed environment is all they need."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cluster.driving import Driver
from tests.cluster.namespaces import ROOT
from tests.cluster.standalone import Standalone

GENERATED = """
CREATE STREAM clicks (k STRING, v INT, ts TIMESTAMP) WITH ('connector' = 'generator', 'rows' = '3000', 'rows.per.second' = 'max',
  'rows.per.batch' = '1000', 'event.interval' = '100ms', 'event.time.field' = 'ts', 'fields.k' = 'choice(a, b, c)');
"""
WINDOWS = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM clicks GROUP BY k WINDOW TUMBLING(1m)"


def test_the_machines_share_nothing_with_the_driver(cluster: Standalone, driver: Driver, tmp_path: Path) -> None:
    path = driver.write("drivers.txt", "of the driver")
    assert driver.host.call("cat", path) == "of the driver"
    for host in cluster.workers.values():
        assert host.call("hostname").strip() == host.name
        seen = host.call("sh", "-c", f"ls {path} {ROOT}/src {tmp_path} 2>/dev/null; true")
        assert seen == "", f"{host.name} sees {seen}"


def test_without_an_environment_the_worker_and_the_way_out_are_named(driver: Driver, cluster: Standalone) -> None:
    file = driver.write("bare.sql", f"{GENERATED} SELECT v FROM clicks")
    bare = Driver(driver.host, cluster)
    said = bare.fail("run", file, "--until-end", "--state", "/tmp/state/bare")
    hosts = "|".join(host.address.replace(".", r"\.") for host in cluster.workers.values())
    assert "[WR608] the source clicks (generator) needs pyarrow, windrow on Spark's workers" in said
    assert re.search(rf"python3 on ({hosts}) has no pyarrow, windrow", said), said
    assert "windrow run --pack $(windrow pack)" in said


def test_a_packed_environment_is_all_that_workers_need(driver: Driver) -> None:
    """A source in Python, windows, and a function of the user's with a package of its own below it."""
    driver.write("packed/rates/__init__.py", "")
    driver.write("packed/rates/table.py", "RATE = 3\n")
    driver.write(
        "packed/own.py",
        "import pyarrow.compute as pc\nfrom rates.table import RATE\nimport rates.table\n\n\n"
        "def priced(v):\n    return pc.multiply(v, rates.table.RATE * RATE // RATE)\n",
    )
    function = "CREATE FUNCTION priced (v BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS 'own:priced';\n"
    query = WINDOWS.replace("SUM(v)", "SUM(priced(v)) AS priced, SUM(v)")
    file = driver.write("packed/packed.sql", f"{GENERATED}{function}{query}")
    there = driver.run("run", file, "--until-end", "--state", "/tmp/state/packed", "--json")
    here = driver.run("run", file, "--until-end", "--state", "/tmp/state/here", "--json", "--master", "local[2]")
    assert _ledger(there) == _ledger(here)


def _ledger(said: str) -> object:
    report = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    return [job["ledger"] for job in report["jobs"]]
