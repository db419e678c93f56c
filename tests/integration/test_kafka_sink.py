"""Rows leave for a real broker: once each for readers of committed records, whatever fails in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.written import read_topic
from windrow.connectors.kafka import sink as kafka_sink
from windrow.connectors.kafka.runtime import forget_after, what_stays
from windrow.connectors.kafka.sender import Sender
from windrow.connectors.kafka.sink import ID_HEADER, ExactSink, PlainSink
from windrow.connectors.kafka.sink_settings import SinkSettings
from windrow.connectors.runtime import Output, SinkRequest
from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import RetryRule, StoppedWaitingError

Made = ExactSink | PlainSink


def request_for(broker: Broker, topic: str, job: str = "job", **options: str) -> SinkRequest:
    chosen = {key.replace("__", "."): value for key, value in options.items()}
    return SinkRequest("out", {"topic": topic, "bootstrap.servers": broker.address, "request.timeout": "5s", **chosen}, job)


def sink_for(request: SinkRequest) -> Made:
    settings = SinkSettings.of(request.options)
    made: Made = ExactSink(settings, request) if settings.is_exact else PlainSink(settings, request, from_driver=False)
    made.open()
    return made


def output(batch: int, rows: list[dict[str, Any]]) -> Output:
    columns = tuple(name for name in rows[0] if not name.startswith("_")) if rows else ("v",)
    return Output(batch, columns, pa.Table.from_pylist(rows) if rows else pa.table({"v": pa.array([], pa.int64())}))


def values(broker: Broker, topic: str) -> list[Any]:
    return sorted(seen.value["v"] for seen in read_topic(broker.address, topic))


def test_a_batch_that_is_written_twice_is_there_once(broker: Broker) -> None:
    request = request_for(broker, broker.topic(), job="twice")
    first = sink_for(request)
    first.write(output(0, [{"v": 1}, {"v": 2}]))
    first.write(output(0, [{"v": 1}, {"v": 2}]))
    first.write(output(1, []))
    first.write(output(2, [{"v": 3}]))
    first.close()
    # A crash after the sink's commit and before the state's: the next run writes the same batch.
    again = sink_for(request)
    again.write(output(2, [{"v": 3}]))
    again.write(output(3, [{"v": 4}]))
    again.close()
    assert values(broker, request.options["topic"]) == [1, 2, 3, 4]


def test_another_job_is_another(broker: Broker) -> None:
    topic = broker.topic()
    for job in ("one", "two"):
        sink = sink_for(request_for(broker, topic, job=job))
        sink.write(output(0, [{"v": 1}]))
        sink.close()
    assert values(broker, topic) == [1, 1]


def test_a_crash_in_the_middle_of_a_batch_leaves_nothing_for_readers(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_for(broker, broker.topic(), job="torn")
    first = sink_for(request)

    def flushed_and_dead(self: Sender) -> None:
        self.flush()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Sender, "commit", flushed_and_dead)
        patch.setattr(Sender, "drop", lambda self, *, abort: None)
        with pytest.raises(KeyboardInterrupt):
            first.write(output(0, [{"v": 1}, {"v": 2}]))
    again = sink_for(request)
    again.write(output(0, [{"v": 1}, {"v": 2}]))
    again.close()
    topic = request.options["topic"]
    assert values(broker, topic) == [1, 2]
    assert len(read_topic(broker.address, topic, "read_uncommitted")) == 4


def test_a_commit_whose_answer_was_lost_is_found_out(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    from confluent_kafka import KafkaError, KafkaException

    request = request_for(broker, broker.topic(), job="lost-answer")
    sink = sink_for(request)
    commit = Sender.commit
    lost: list[bool] = []

    def committed_but_unheard(self: Sender) -> None:
        commit(self)
        if not lost:
            lost.append(True)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    monkeypatch.setattr(Sender, "commit", committed_but_unheard)
    sink.write(output(0, [{"v": 1}]))
    sink.write(output(1, [{"v": 2}]))
    sink.close()
    assert values(broker, request.options["topic"]) == [1, 2]


def test_a_run_that_was_replaced_stops(broker: Broker) -> None:
    request = request_for(broker, broker.topic(), job="zombie")
    zombie = sink_for(request)
    zombie.write(output(0, [{"v": 1}]))
    newer = sink_for(request)
    with pytest.raises(JobError) as caught:
        zombie.write(output(1, [{"v": 2}]))
    assert caught.value.code == "WR894"
    newer.write(output(1, [{"v": 2}]))
    newer.close()
    assert values(broker, request.options["topic"]) == [1, 2]


def test_a_transaction_of_another_sink_that_hangs_is_waited_for_only_if_it_hides_something(broker: Broker) -> None:
    request = request_for(broker, broker.topic(), job="behind")
    sink_for(request).close()
    other = Producer({"bootstrap.servers": broker.address, "transactional.id": "hangs"})
    other.init_transactions(10)
    other.begin_transaction()
    other.produce("_windrow_commits", b"{}", b"somebody else", partition=0)
    other.flush(10)
    started = time.monotonic()
    sink = sink_for(request)
    sink.write(output(0, [{"v": 1}]))
    sink.close()
    assert time.monotonic() - started < 30
    timer = threading.Timer(2, lambda: other.abort_transaction(10))
    timer.start()
    again = sink_for(request)
    timer.join()
    again.write(output(0, [{"v": 1}]))
    again.close()
    assert values(broker, request.options["topic"]) == [1]


def test_keys_headers_and_times(broker: Broker) -> None:
    request = request_for(broker, broker.topic(partitions=4, retention_ms="-1"), job="keys", timestamp="event_time")
    table = pa.table(
        {
            "v": [1, 2, 3],
            "_key": ["a", "a", None],
            "_headers": pa.array([[("trace", "x")], None, None], pa.map_(pa.string(), pa.string())),
            "_event_time": pa.array([1_000_000, 2_000_000, 3_000_000], pa.timestamp("us", "UTC")),
        }
    )
    sink = sink_for(request)
    sink.write(Output(0, ("v",), table))
    sink.close()
    seen = sorted(read_topic(broker.address, request.options["topic"]), key=lambda one: one.value["v"])
    assert [(one.key, one.value, one.headers, one.time) for one in seen] == [
        ("a", {"v": 1}, {"trace": "x"}, 1000),
        ("a", {"v": 2}, {}, 2000),
        (None, {"v": 3}, {}, 3000),
    ]
    assert seen[0].partition == seen[1].partition


@pytest.mark.parametrize(
    ("keys", "spelled"),
    [
        (pa.array([7]), "7"),
        (pa.array([True]), "true"),
        (pa.array([0], pa.timestamp("us", "UTC")), "1970-01-01T00:00:00.000000Z"),
        (pa.array([b"\x66"]), "f"),
    ],
)
def test_a_key_of_any_type_is_spelled_the_same_from_tables_and_frames(broker: Broker, spark: SparkSession, keys: Any, spelled: str) -> None:
    request = request_for(broker, broker.topic(), job=f"spelled {spelled}")
    table = pa.table({"v": [1], "_key": keys})
    sink = sink_for(request)
    sink.write(Output(0, ("v",), table))
    sink.write(Output(1, ("v",), frame=spark.createDataFrame(table)))
    sink.close()
    assert [one.key for one in read_topic(broker.address, request.options["topic"])] == [spelled, spelled]


def test_a_retraction_is_a_tombstone(broker: Broker, spark: SparkSession) -> None:
    request = request_for(broker, broker.topic(), job="tombs")
    table = pa.table({"v": [1, 1], "_key": ["a", "a"], "_emission": ["change", "retract"]})
    sink = sink_for(request)
    sink.write(Output(0, ("v",), table))
    sink.write(Output(1, ("v",), frame=spark.createDataFrame(table).coalesce(1)))
    assert [(one.key, one.value) for one in read_topic(broker.address, request.options["topic"])] == [("a", {"v": 1}), ("a", None)] * 2
    with pytest.raises(JobError) as caught:
        sink.write(Output(2, ("v",), pa.table({"v": [1], "_key": pa.array([None], pa.string()), "_emission": ["retract"]})))
    assert caught.value.code == "WR895"
    sink.write(output(2, [{"v": 9, "_key": "b"}]))
    sink.close()


def test_frames_arrive_whole_and_once(broker: Broker, spark: SparkSession) -> None:
    request = request_for(broker, broker.topic(), job="frames")
    frame = spark.range(0, 25_000, 1, 3).selectExpr("id AS v", "CAST(id % 10 AS STRING) AS _key", "repeat('x', 100) AS pad")
    sink = sink_for(request)
    sink.write(Output(0, ("v", "pad"), frame=frame))
    sink.close()
    again = sink_for(request)
    again.write(Output(0, ("v", "pad"), frame=frame))
    again.close()
    assert values(broker, request.options["topic"]) == list(range(25_000))


@pytest.mark.parametrize("rows_are", ["table", "frame"])
def test_at_least_once_marks_each_record(broker: Broker, spark: SparkSession, rows_are: str) -> None:
    request = request_for(broker, broker.topic(), job="loose", delivery="at_least_once")
    sink = sink_for(request)
    table = pa.table({"v": [1, 2, 3]})
    rows = {"table": table} if rows_are == "table" else {"frame": spark.createDataFrame(table).coalesce(1)}
    for _ in range(2):
        sink.write(Output(5, ("v",), **rows))
    sink.close()
    seen = read_topic(broker.address, request.options["topic"])
    assert len(seen) == 6
    assert {one.headers[ID_HEADER]: one.value["v"] for one in seen} == {f"loose/out/5/{n}": n + 1 for n in range(3)}


def test_a_topic_is_made_when_asked_for(broker: Broker) -> None:
    missing = request_for(broker, "not-there", job="making")
    with pytest.raises(UsageError) as caught:
        sink_for(missing)
    assert caught.value.code == "WR862"
    made = request_for(broker, "made-here", job="making", topic__create="true", topic__partitions="3", topic__replication__factor="1")
    sink_for(made).close()
    sink_for(made).close()
    assert len(broker.admin.list_topics("made-here", timeout=10).topics["made-here"].partitions) == 3


def test_a_row_that_is_too_large_stops_the_job(broker: Broker) -> None:
    request = request_for(broker, broker.topic(), job="large")
    sink = sink_for(request)
    with pytest.raises(JobError) as caught:
        sink.write(output(0, [{"v": "x" * 2_000_000}]))
    assert caught.value.code == "WR893"
    assert "2,000" in caught.value.message
    narrow = request_for(broker, broker.topic(max_message_bytes="1000"), job="narrow", kafka__compression__type="none")
    with pytest.raises(JobError) as caught:
        sink_for(narrow).write(output(0, [{"v": "x" * 5_000}]))
    assert caught.value.code == "WR893"


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_row_that_is_too_large_is_set_aside_when_asked_for(broker: Broker, delivery: str) -> None:
    topic = broker.topic(max_message_bytes="3000")
    given = {"failure__policy": "dead_letter", "delivery": delivery, "kafka__compression__type": "none"}
    request = request_for(broker, topic, job=f"aside {delivery}", **given)
    rows = output(0, [{"v": "a"}, {"v": "x" * 5_000}, {"v": "b"}])
    sink = sink_for(request)
    refused = list(sink.write(rows) or ())
    assert [(len(one.row["v"]), "5,0" in one.why) for one in refused] == [(5_000, True)]
    assert {seen.value["v"] for seen in read_topic(broker.address, topic)} == {"a", "b"}
    if delivery == "exactly_once":
        sink.close()
        assert list(sink_for(request).write(rows) or ()) == refused, "a batch that runs again gives the same"
        assert len(read_topic(broker.address, topic)) == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"kafka__no__such__setting": "1"}, "WR867"),
        ({"transaction__timeout": "1ms"}, "WR867"),
        ({"topic__partitions": "3"}, "WR867"),
        ({"commits__topic": "a b"}, "WR867"),
    ],
)
def test_wrong_options_are_found_before_any_row(broker: Broker, options: dict[str, str], code: str) -> None:
    with pytest.raises(WindrowError) as caught:
        sink_for(request_for(broker, broker.topic(), job="wrong", **options))
    assert caught.value.code == code


def test_going_back_lets_batches_be_written_again(broker: Broker) -> None:
    request = request_for(broker, broker.topic(), job="back")
    sink = sink_for(request)
    for batch in range(3):
        sink.write(output(batch, [{"v": batch}]))
    sink.close()
    assert "cannot be taken back" in what_stays(request)
    forget_after(request, 0)
    again = sink_for(request)
    for batch in range(3):
        again.write(output(batch, [{"v": batch * 10}]))
    again.close()
    assert values(broker, request.options["topic"]) == [0, 1, 2, 10, 20]


@pytest.fixture
def broken(broker: Broker) -> Iterator[Broker]:
    """The broker, which is up again after the test whatever that did to it."""
    yield broker
    broker.start()


def test_a_broker_that_is_killed_in_the_middle_of_a_batch(broken: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_for(broken, broken.topic(), job="outage", request__timeout="2s")
    sink = sink_for(request)
    sink.write(output(0, [{"v": 0}]))
    send = Sender.send
    killed: list[threading.Timer] = []

    def send_then_kill(self: Sender, records: Any) -> None:
        send(self, records)
        if not killed:
            self.flush()
            broken.kill()
            killed.append(threading.Timer(6, broken.start))
            killed[0].start()

    monkeypatch.setattr(Sender, "send", send_then_kill)
    sink.write(output(1, [{"v": 1}, {"v": 2}]))
    killed[0].join()
    sink.write(output(2, [{"v": 3}]))
    sink.close()
    assert values(broken, request.options["topic"]) == [0, 1, 2, 3]


def test_a_job_that_stops_waits_no_longer_for_a_broker(broken: Broker) -> None:
    plain = request_for(broken, broken.topic(), job="stopping", request__timeout="1s")
    sink = sink_for(plain)
    broken.kill()
    timer = threading.Timer(2, plain.stopping.set)
    timer.start()
    with pytest.raises(StoppedWaitingError):
        sink.write(output(0, [{"v": 1}]))
    timer.join()


def test_a_job_that_starts_without_a_broker_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_sink, "_OPENING", RetryRule(give_up_after=1.0))
    request = SinkRequest("out", {"topic": "t", "bootstrap.servers": "127.0.0.1:1", "request.timeout": "1s"}, "j")
    with pytest.raises(JobError) as caught:
        sink_for(request)
    assert caught.value.code == "WR860"
