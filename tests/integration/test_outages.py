"""What a job does while a system that it needs is away."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.topics import Record, Runner, options, send, until
from windrow.connectors.memory.runtime import SINKS
from windrow.local.postgres import PostgresServer
from windrow.observe.status import FAILED, RUNNING, WAITING

OUT = "WITH ('connector' = 'memory')"
# Its client waits a minute by default before it says that nobody answers.
IMPATIENT = {"kafka__default__api__timeout__ms": "2000", "kafka__request__timeout__ms": "1500", "topic__wait__timeout": "2s"}


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Runner:
    return Runner(spark, tmp_path)


def _sql(broker: Broker, topic: str) -> str:
    return f"CREATE STREAM s (v INT) WITH ({options(broker, topic, **IMPATIENT)}); CREATE STREAM out AS SELECT v FROM s {OUT};"


def test_a_job_waits_for_its_broker_and_goes_on(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=2)
    jobs = run.start(_sql(broker, topic), "continuous")
    try:
        send(broker, topic, [Record({"v": n}, n % 2) for n in range(4)])
        until(lambda: jobs.status()[0].rows_in == 4)
        broker.kill()
        until(lambda: jobs.status()[0].state == WAITING, 300)
        assert "does not answer" in (jobs.status()[0].error or "")
        # Longer than a start waits for the broker: the job tries to begin again, and finds nobody.
        until(lambda: "could not ask for its topics" in (jobs.status()[0].error or ""), 120, jobs.status)
        assert jobs.status()[0].state == WAITING
        broker.start()
        send(broker, topic, [Record({"v": n}, n % 2) for n in range(4, 8)])
        until(lambda: jobs.status()[0].rows_in == 8, 300, jobs.status)
        status = jobs.status()[0]
        assert (status.state, status.error) == (RUNNING, None)
        assert status.ledger.is_balanced
    finally:
        broker.start()
        jobs.stop()
    assert sorted(r["v"] for r in SINKS["out"].rows()) == list(range(8))


def test_a_job_stops_when_it_has_waited_long_enough(broker: Broker, run: Runner) -> None:
    topic = broker.topic()
    jobs = run.start(_sql(broker, topic), "continuous", settings={"outage.max_seconds": "1"})
    try:
        send(broker, topic, [Record({"v": 1})])
        until(lambda: jobs.status()[0].rows_in == 1)
        broker.kill()
        until(lambda: jobs.status()[0].state == FAILED, 120)
        assert "WR860" in (jobs.status()[0].error or "")
    finally:
        broker.start()
        jobs.stop()
    jobs = run.start(_sql(broker, topic), "once")
    assert jobs.await_end(60)
    assert jobs.status()[0].rows_in == 1, "what was read is not read again"


def test_rows_that_an_output_refuses_are_dead_letters(broker: Broker, postgres: PostgresServer, run: Runner) -> None:
    topic = broker.topic()
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE narrow (v varchar(3))")
    send(broker, topic, [Record({"v": value}) for value in ("a", "toolong", "b")])
    sql = f"""
    CREATE STREAM s (v STRING) WITH ({options(broker, topic)});
    CREATE STREAM narrow AS SELECT v FROM s
    WITH ('connector' = 'postgres', 'url' = '{postgres.dsn}', 'table' = 'narrow', 'failure.policy' = 'dead_letter');
    """
    jobs = run.start(sql)
    assert jobs.await_end(90)
    ledger = jobs.status()[0].ledger
    assert ledger.is_balanced
    assert ledger.statements["narrow"].refused == 1
    (letter,) = run.dead_letters()
    assert (letter["code"], letter["statement"], letter["row"]) == ("WR707", "narrow", '{"v": "toolong"}')
    assert "too long" in letter["message"]
    with postgres.connect() as connection:
        assert sorted(connection.execute("SELECT v FROM narrow").fetchall()) == [("a",), ("b",)]
