"""Rows that go from topic to topic are read once: what the ledger says of them is counted while they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.topics import Record, Runner, options, send
from tests.integration.written import read_topic
from windrow.connectors.kafka.sink import ExactSink
from windrow.errors import WindrowError
from windrow.jobs import Jobs
from windrow.spark.execution.ledger_writer import LedgerWriter
from windrow.spark.state.state_store import StateStore

TIMED = "(k STRING, v INT, ts BIGINT)"
TIME = {"event__time__field": "ts", "event__time__format": "epoch_millis"}
ROWS = [
    Record({"k": "a", "v": 1, "ts": 1_000}, 0, b"a"),
    Record({"k": "b", "v": 20, "ts": 7_000}, 0, b"b"),
    Record({"k": "c", "v": 30, "ts": 3_000}, 1),
    Record({"k": "d", "v": None, "ts": 9_000}, 1),
    Record(b"no json", 1),
    Record({"k": "e", "v": 50}, 0),
]


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Runner:
    return Runner(spark, tmp_path)


def statement(broker: Broker, source: str, target: str, delivery: str = "exactly_once", **more: str) -> str:
    return f"""
    CREATE STREAM s {TIMED} WITH ({options(broker, source, **TIME, **more)});
    CREATE STREAM out AS SELECT k, 100 / v AS share FROM s WHERE v > 10 WITH ({options(broker, target, delivery=delivery)});
    """


def ended(run: Runner, sql: str) -> Jobs:
    jobs = run.start(sql, "once")
    try:
        assert jobs.await_end(90)
    finally:
        jobs.stop()
    return jobs


def written(broker: Broker, topic: str) -> list[Any]:
    return sorted((seen.key or "none", seen.value["k"], seen.value["share"]) for seen in read_topic(broker.address, topic))


def check_ledger(jobs: Jobs) -> None:
    ledger = jobs.status()[0].ledger
    assert ledger.is_balanced
    source, out = ledger.source("s"), ledger.statement("out")
    assert (source.rows_in, source.passed, dict(source.dead)) == (6, 4, {"WR701": 1, "WR703": 1})
    assert (out.rows_in, out.passed, out.filtered, out.emitted) == (4, 2, 2, 2)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_batch_is_read_once_and_every_row_is_accounted_for(
    broker: Broker, run: Runner, monkeypatch: pytest.MonkeyPatch, delivery: str
) -> None:
    def no_second_reading(*_: Any) -> None:
        raise AssertionError("the batch was read again for its accounts")

    monkeypatch.setattr(LedgerWriter, "account", no_second_reading)
    source, target = broker.topic(), broker.topic()
    send(broker, source, ROWS)
    jobs = ended(run, statement(broker, source, target, delivery))
    check_ledger(jobs)
    assert written(broker, target) == [("b", "b", 5.0), ("none", "c", 100 / 30)]
    assert sorted(letter["code"] for letter in run.dead_letters()) == ["WR701", "WR703"]
    assert {letter["raw"] for letter in run.dead_letters()} == {b"no json", b'{"k": "e", "v": 50}'}


def test_a_batch_that_was_written_before_a_crash_is_counted_all_the_same(
    broker: Broker, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = broker.topic(), broker.topic()
    send(broker, source, ROWS)
    sql = statement(broker, source, target)
    with monkeypatch.context() as patch:
        patch.setattr(StateStore, "save", lambda *_, **__: (_ for _ in ()).throw(OSError("the disk is gone")))
        with pytest.raises(WindrowError):
            ended(run, sql)
    jobs = ended(run, sql)
    check_ledger(jobs)
    assert len(written(broker, target)) == 2


def test_a_row_that_must_stop_the_job_does_so_before_anything_is_written(broker: Broker, run: Runner) -> None:
    source, target = broker.topic(), broker.topic()
    send(broker, source, ROWS)
    with pytest.raises(WindrowError) as caught:
        ended(run, statement(broker, source, target, bad__rows="fail"))
    assert caught.value.code == "WR701"
    assert written(broker, target) == []


def test_a_batch_that_is_written_again_is_counted_once(broker: Broker, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    from confluent_kafka import KafkaError, KafkaException

    source, target = broker.topic(), broker.topic()
    send(broker, source, ROWS)
    commit = ExactSink._commit
    failed: list[int] = []

    def fails_once(self: ExactSink, *args: Any) -> None:
        if not failed:
            failed.append(1)
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        commit(self, *args)

    monkeypatch.setattr(ExactSink, "_commit", fails_once)
    check_ledger(ended(run, statement(broker, source, target)))
    assert failed
    assert len(written(broker, target)) == 2
