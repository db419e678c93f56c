"""kill -9 of a job that reads changes of a database and writes Delta Lake and Iceberg tables: each change is there once.

``WINDROW_CHAOS_ROUNDS`` says how often (50), ``WINDROW_CHAOS_SEED`` repeats a run's moments and rows. What is expected is worked out from
the changes that were sent, by a few lines of Python.
"""

from __future__ import annotations

import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.outside import PARTITIONS, START, STEP, Job, Load, make_topics, until
from windrow.connectors.delta.store import DeltaStore
from windrow.connectors.iceberg.store import IcebergStore
from windrow.connectors.lake.store import LakeStore
from windrow.local.kafka import LocalBroker

pytestmark = pytest.mark.chaos

RATE, KEYS, WINDOW = 100, 40, 10_000
SINKS = {
    "delta": "'connector' = 'delta', 'path' = '{folder}/delta/{name}'",
    "iceberg": "'connector' = 'iceberg', 'table' = 'db.{name}', 'warehouse' = '{folder}/iceberg'",
}
READ = """
CREATE STREAM changes (k BIGINT, v BIGINT, _before STRUCT<v BIGINT>, _source STRUCT<n BIGINT>, _changed_at TIMESTAMP) WITH (
  'connector' = 'kafka', 'topic' = 'changes', 'bootstrap.servers' = '{servers}', 'max.offsets.per.trigger' = '1000', 'format' = 'debezium',
  'topic.wait.timeout' = '2m', 'event.time.field' = '_changed_at', 'watermark.delay' = '1d');
CREATE TABLE now (k BIGINT, v BIGINT, PRIMARY KEY (k)) WITH (
  'connector' = 'kafka', 'topic' = 'changes', 'bootstrap.servers' = '{servers}', 'format' = 'debezium', 'refresh.interval' = '1ms');
CREATE STREAM probes (k BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'probes', 'bootstrap.servers' = '{servers}', 'topic.wait.timeout' = '2m');
"""
# One of each format: every change, sums that are corrected with every batch, and rows with the table as it stands.
WRITE = """
CREATE STREAM copied_{format} AS SELECT _source.n AS n, _op AS op, k, v FROM changes WITH ({copied});
CREATE STREAM sums_{format} AS
  SELECT k % 10 AS g, unix_millis(_window_start) AS since, COUNT(*) AS n,
         SUM(CASE WHEN _op = 'd' THEN 0 ELSE v END) - SUM(COALESCE(_before.v, 0)) AS difference
  FROM changes GROUP BY k % 10 WINDOW TUMBLING(10s) EMIT CHANGES PER BATCH WITH ({sums});
CREATE STREAM probed_{format} AS SELECT p.k, n.v FROM probes p LEFT JOIN now n ON p.k = n.k WITH ({probed});
"""


class Changes(Load):
    """Rows that are created, updated and deleted, with a tombstone after each delete, and some that are no envelope."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, "changes", seed, RATE)
        self.now: dict[int, int] = {}
        self.bad = 0

    def finish(self) -> None:
        self._over.set()
        self._thread.join()
        assert self._producer.flush(120) == 0
        assert self._failure is None, self._failure

    def _run(self) -> None:
        while not self._over.wait(0.1):
            for _ in range(self._rate // 10):
                self._change()

    def _change(self) -> None:
        key, value = self._rng.randrange(KEYS), self._rng.randrange(1, 1000)
        partition = key % PARTITIONS
        if self._rng.random() < 0.02:
            self.bad += 1
            self._send({"op": "x", "after": {"k": key}}, partition)
        before = self.now.get(key)
        op = "c" if before is None else self._rng.choice("uud")
        number = len(self.rows)
        at = START + number * STEP
        self.rows.append({"n": number, "op": op, "k": key, "v": before if op == "d" else value, "before": before, "at": at})
        images = {
            "before": None if before is None else {"k": key, "v": before},
            "after": None if op == "d" else {"k": key, "v": value},
        }
        self._send({"payload": {**images, "op": op, "source": {"n": number, "ts_ms": at}}}, partition)
        if op == "d":
            del self.now[key]
            self._producer.produce("changes", None, str(key).encode(), partition=partition)
        else:
            self.now[key] = value

    def sums(self) -> list[tuple[int, int, int, int]]:
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row in self.rows:
            after, before = (0 if row["op"] == "d" else row["v"]), row["before"] or 0
            groups[row["k"] % 10, row["at"] // WINDOW * WINDOW].append(after - before)
        return sorted((group, since, len(each), sum(each)) for (group, since), each in groups.items())


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[LocalBroker]:
    made = LocalBroker(tmp_path / "kafka", 0)
    made.start()
    yield made
    made.kill()


def statements(servers: str, folder: Path) -> str:
    found = [READ.format(servers=servers)]
    for format_, options in SINKS.items():
        copied, sums, probed = (options.format(folder=folder, name=name) for name in ("copied", "sums", "probed"))
        # Neither the group nor the window stands in the list as it is, so the key must be named.
        sums += ", 'key' = 'g,since'"
        found.append(WRITE.format(format=format_, copied=copied, sums=sums, probed=probed))
    return "".join(found)


def store_of(format_: str, folder: Path, name: str) -> LakeStore:
    if format_ == "delta":
        return DeltaStore({"path": str(folder / "delta" / name)})
    return IcebergStore({"table": f"db.{name}", "warehouse": str(folder / "iceberg")})


def rows_of(format_: str, folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    table = store_of(format_, folder, name).open()
    return [] if table is None else sorted(tuple(row[column] for column in columns) for row in table.rows(columns).to_pylist())


def test_kills_leave_no_trace_in_tables(tmp_path: Path, broker: LocalBroker) -> None:
    seed = int(os.environ.get("WINDROW_CHAOS_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    rng = random.Random(seed)
    make_topics(broker, "changes", "probes")
    sql = tmp_path / "job.sql"
    sql.write_text(statements(broker.address, tmp_path))
    job, load = Job(sql, tmp_path / "state"), Changes(broker.address, seed)
    load.start()
    job.start()
    try:
        for number in range(int(os.environ.get("WINDROW_CHAOS_ROUNDS", "50"))):
            wanted = job.last_commit() + rng.choice((0, 1, 1, 2, 3))
            assert until(lambda least=wanted: job.last_commit() >= least, job, 300), f"no batch before blow {number}"  # type: ignore[misc]
            until(lambda: False, job, rng.uniform(0, 2.5))
            print(f"{number}, after batch {job.last_commit()}", flush=True)
            job.kill()
            job.start()
    finally:
        load.finish()
    probes = Load(broker.address, "probes", seed, 0)
    for key in range(KEYS):
        probes._send({"k": key}, key % PARTITIONS)
    assert probes._producer.flush(60) == 0
    everything = sorted((row["n"], row["op"], row["k"], row["v"]) for row in load.rows)
    try:

        def is_done() -> bool:
            return all(
                len(rows_of(format_, tmp_path, "copied", "n")) >= len(everything)
                and len(rows_of(format_, tmp_path, "probed", "k")) >= KEYS
                and sum(n for (n,) in rows_of(format_, tmp_path, "sums", "n")) >= len(everything)
                for format_ in SINKS
            )

        assert until(is_done, job, 600), f"see {job.log}"
        # What should not come at all has the time of one more batch for it.
        until(lambda: False, job, 5)
        job.stop()
    finally:
        job.kill()
    print(
        f"{len(load.rows):,} changes, {load.bad} bad, {Counter(row['op'] for row in load.rows)}, {job.ends} times the job ended by itself"
    )
    standing = sorted((key, load.now.get(key)) for key in range(KEYS))
    for format_ in SINKS:
        assert rows_of(format_, tmp_path, "copied", "n", "op", "k", "v") == everything, format_
        assert rows_of(format_, tmp_path, "sums", "g", "since", "n", "difference") == load.sums(), format_
        assert rows_of(format_, tmp_path, "probed", "k", "v") == standing, format_
