"""Faults of a cluster in the middle of a job, one after another: the output is that of an undisturbed run, row for row.

``WINDROW_CHAOS_ROUNDS`` is the number of faults (12 if not set), ``WINDROW_CHAOS_SEED`` repeats a run's faults, moments and rows. How
long the job took to commit its next batch is printed for each.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.trades import SQL, STREAMS, last_commit, write_trades
from tests.cluster.driving import Driver, Running
from tests.cluster.faults import Fault, some_fault
from tests.cluster.standalone import Standalone
from tests.cluster.stores import put, read
from tests.servers.hdfs import Hdfs

ROUNDS = int(os.environ.get("WINDROW_CHAOS_ROUNDS", "12"))
# Batches go on while a fault is under way and after it, and the job must not end before the last one.
FILES = 12 * ROUNDS + 20
_GO_ON_SECONDS = 240.0
# The lease of a driver that was killed runs out sooner than the half minute that is usual.
_SETTINGS = {"state.lease.seconds": "5", "spark.worker.timeout": "6"}


class Job:
    """The job in one place: where it writes, and how far it has come."""

    def __init__(self, server: Hdfs, driver: Driver, root: str, place: str, home: str) -> None:
        self._settings = {**_SETTINGS, **server.settings, "state.home": home, "state.buckets": "3"}
        self._server, self._driver, self._root, self._place = server, driver, root, place
        self._file = driver.write(f"{place}.sql", SQL.format(rows=f"{server.address}{root}/in", out=f"{server.address}{root}/{place}"))
        self.running: Running | None = None

    def start(self, *words: str) -> Running:
        state = f"{self._server.address}{self._root}/{self._place}/state"
        self.running = self._driver.start("run", self._file, "--until-end", "--json", "--state", state, *words, settings=self._settings)
        return self.running

    def last_commit(self) -> int:
        return last_commit(lambda folder: self._server.names(f"{self._root}/{self._place}/{folder}"))

    def rows(self) -> dict[str, list[str]]:
        place = f"{self._server.address}{self._root}/{self._place}"
        found: dict[str, list[str]] = {stream: [] for stream in STREAMS}
        for path, text in sorted(read(place, *found).items()):
            # Rows of one batch that executors write stand in their files as tasks fell.
            found[path.split("/")[0]] += sorted(text.splitlines())
        return found

    def ledger(self) -> object:
        assert self.running is not None
        report = json.loads(next(line for line in self.running.said.splitlines() if line.startswith("{")))
        return [job["ledger"] for job in report["jobs"]]


def _await(is_so: Callable[[], bool], seconds: float, running: Running) -> bool:
    """False where the job ended, or it took too long."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if running.process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _round(job: Job, cluster: Standalone, chance: random.Random, fault: Fault | None) -> str | None:
    """One fault, at some moment after some batch; what is told of it. None where the job had ended before."""
    running = job.running
    assert running is not None
    wanted = job.last_commit() + chance.randrange(1, 3)
    if not _await(lambda: job.last_commit() >= wanted, _GO_ON_SECONDS, running):
        return None
    moment = time.monotonic() + chance.uniform(0, 1.5)
    _await(lambda: time.monotonic() >= moment, 5, running)
    if running.process.poll() is not None:
        return None
    struck, at = time.monotonic(), job.last_commit()
    if fault is None:
        running.kill()
        running = job.start()
        name = "driver killed and started again"
    else:
        fault.strike()
        name = fault.name
        # Two, because one may have been under way and all but done.
        _await(lambda: job.last_commit() > at + 1, fault.while_away, running)
        fault.mend()
    gone_on = _await(lambda: job.last_commit() > at + 1, _GO_ON_SECONDS, running)
    assert gone_on or running.process.poll() == 0, f"{name}: it did not go on\n{running.said[-3000:]}"
    return f"{name}: two batches later after {time.monotonic() - struck:.1f} s"


@pytest.mark.parametrize("home", ["resident", "distributed"])
def test_faults_leave_no_trace(
    cluster: Standalone, driver: Driver, hdfs_server: Hdfs, chance: random.Random, tmp_path: Path, home: str
) -> None:
    write_trades(tmp_path / "in", FILES, 30, chance.randrange(1_000_000))
    root = f"/faults-{home}-{chance.randrange(1_000_000)}"
    put(f"{hdfs_server.address}{root}/in", {path.name: path for path in sorted((tmp_path / "in").iterdir())})
    whole, struck = Job(hdfs_server, driver, root, "undisturbed", "resident"), Job(hdfs_server, driver, root, "struck", home)
    undisturbed = whole.start("--master", "local[2]")
    assert undisturbed.process.wait(3600) == 0, undisturbed.said
    struck.start()
    done = 0
    for _ in range(ROUNDS):
        told = _round(struck, cluster, chance, None if chance.random() < 0.15 else some_fault(cluster, chance))
        if told is None:
            break
        done += 1
        print(f"  {done}. {told}", flush=True)
        for name in cluster.workers:
            cluster.revive(name)
    assert struck.running is not None
    assert struck.running.process.wait(3600) == 0, struck.running.said[-3000:]
    print(f"{done} faults in {struck.last_commit() + 1} batches")
    assert done >= ROUNDS * 0.8
    expected = whole.rows()
    assert all(expected.values())
    assert struck.rows() == expected
    assert struck.ledger() == whole.ledger()
