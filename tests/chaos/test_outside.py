"""kill -9 of the job, of the broker and of the database, at random moments under load: every row is there once.

``WINDROW_CHAOS_ROUNDS`` says how often (100), ``WINDROW_CHAOS_SEED`` repeats a run's moments and rows.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.outside import Job, Load, bounce, make_topics, until
from tests.integration.written import read_topic
from windrow.errors import UsageError
from windrow.local.kafka import LocalBroker
from windrow.local.postgres import PostgresServer, needed_programs, temporary_server

pytestmark = pytest.mark.chaos

RATE = 200
WINDOW = 10_000
SQL = """
CREATE STREAM trades (id BIGINT, symbol STRING, price BIGINT, ts BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'trades', 'bootstrap.servers' = '{servers}', 'max.offsets.per.trigger' = '2000',
  'topic.wait.timeout' = '2m', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '2s');
CREATE STREAM dear AS SELECT id, price FROM trades WHERE price > 500
  WITH ('connector' = 'kafka', 'topic' = 'dear', 'bootstrap.servers' = '{servers}', 'request.timeout' = '5s');
CREATE STREAM candles AS
  SELECT symbol, unix_millis(_window_start) AS since, COUNT(*) AS n, SUM(price) AS total, MAX(price) AS high, _revision AS rev
  FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'kafka', 'topic' = 'candles', 'bootstrap.servers' = '{servers}', 'request.timeout' = '5s');
CREATE STREAM stored AS
  SELECT symbol, unix_millis(_window_start) AS since, COUNT(*) AS n, SUM(price) AS total, MAX(price) AS high, _revision AS rev
  FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'postgres', 'url' = '{dsn}', 'table' = 'candles', 'table.create' = 'true', 'write.mode' = 'insert');
"""
COLUMNS = ("symbol", "since", "n", "total", "high", "rev")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[LocalBroker]:
    made = LocalBroker(tmp_path / "kafka", 0)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    try:
        needed_programs()
    except UsageError as error:
        pytest.skip(str(error))
    with temporary_server("chaos") as server:
        yield server


def expected_candles(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rows:
        groups[row["symbol"], row["ts"] // WINDOW * WINDOW].append(row["price"])
    return sorted((symbol, since, len(prices), sum(prices), max(prices), 1) for (symbol, since), prices in groups.items())


def victims(rng: random.Random) -> list[str]:
    """As many of each as there can be, in any order."""
    rounds = int(os.environ.get("WINDROW_CHAOS_ROUNDS", "100"))
    chosen = [("job", "broker", "database")[number % 3] for number in range(rounds)]
    rng.shuffle(chosen)
    return chosen


def strike(victim: str, job: Job, broker: LocalBroker, database: PostgresServer, rng: random.Random) -> None:
    if victim == "job":
        job.kill()
        job.start()
    else:
        bounce(broker if victim == "broker" else database, rng.choice((0.0, rng.uniform(0, 4))))


def test_kills_all_around_leave_no_trace(tmp_path: Path, broker: LocalBroker, database: PostgresServer) -> None:
    seed = int(os.environ.get("WINDROW_CHAOS_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    rng = random.Random(seed)
    make_topics(broker, "trades", "dear", "candles")
    sql = tmp_path / "job.sql"
    sql.write_text(SQL.format(servers=broker.address, dsn=database.dsn))
    job = Job(sql, tmp_path / "state")
    load = Load(broker.address, "trades", seed, RATE)
    load.start()
    job.start()
    try:
        for number, victim in enumerate(victims(rng), 1):
            # It must get further between two blows, and some fall while it does: at its start, in a batch, in a commit.
            wanted = job.last_commit() + rng.choice((0, 1, 1, 2, 3))
            assert until(lambda least=wanted: job.last_commit() >= least, job, 300), f"no batch before blow {number}"  # type: ignore[misc]
            until(lambda: False, job, rng.uniform(0, 1.5))
            print(f"{number} {victim}, after batch {job.last_commit()}", flush=True)
            strike(victim, job, broker, database, rng)
    finally:
        load.finish()
    try:
        expected = expected_candles(load.rows)
        query = "SELECT symbol, since, n, total, high, rev FROM candles"

        def is_done() -> bool:
            return job.last_commit() >= 0 and len(database.rows(query)) >= len(expected)

        assert until(is_done, job, 600), f"{len(database.rows(query))} of {len(expected)} rows; see {job.log}"
        # What a reader of the topics may not yet see, and what should not come at all, has the time of one more batch for it.
        until(lambda: False, job, 5)
        job.stop()
    finally:
        job.kill()
    print(f"{len(load.rows):,} rows, {len(expected)} candles, {job.ends} times the job ended by itself")
    assert sorted(tuple(row) for row in database.rows(query)) == expected
    seen = read_topic(broker.address, "candles", seconds=120)
    assert sorted(tuple(one.value[name] for name in COLUMNS) for one in seen) == expected
    dear = sorted((row["id"], row["price"]) for row in load.rows if row["price"] > 500)
    assert sorted((one.value["id"], one.value["price"]) for one in read_topic(broker.address, "dear", seconds=120)) == dear
