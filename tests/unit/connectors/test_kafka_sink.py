"""What a Kafka sink makes of options, rows and errors, without a broker."""

from __future__ import annotations

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from windrow.compiler import compile_sql
from windrow.connectors.kafka.failures import classify, explain
from windrow.connectors.kafka.records import Records, records_of
from windrow.connectors.kafka.sink_settings import SinkSettings
from windrow.connectors.runtime import Output
from windrow.errors import JobError, UsageError
from windrow.resilience import FailureClass

NEEDED = {"topic": "t", "bootstrap.servers": "b:9092"}


@pytest.mark.parametrize(
    "options",
    [
        {"topic": "t"},
        {"bootstrap.servers": "b:9092"},
        {**NEEDED, "topic": "no good"},
        {**NEEDED, "topic.partitions": "3"},
        {**NEEDED, "topic.create": "true", "topic.partitions": "0"},
        {**NEEDED, "transaction.timeout": "soon"},
    ],
)
def test_wrong_options(options: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        SinkSettings.of(options)
    assert caught.value.code == "WR867"


def test_settings_of_the_client_are_passed_on_and_never_printed() -> None:
    sql = """
    CREATE STREAM s (a INT) WITH ('connector' = 'files', 'path' = 'in');
    CREATE STREAM o AS SELECT a FROM s
    WITH ('connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'b:1', 'kafka.sasl.password' = 'hush');
    """
    compiled = compile_sql(sql, "q.sql", {})
    (write,) = compiled.plan.jobs[0].writes
    settings = SinkSettings.of(dict(write.options))
    assert settings.client == {"sasl.password": "hush"}
    assert "hush" not in repr(settings)


def records(table: pa.Table) -> list[Records]:
    return list(records_of(Output(0, ("v",), table), with_times=False))


def test_rows_become_records() -> None:
    table = pa.table({"v": [1, 2], "_key": ["a", None], "_emission": ["change", "change"], "hidden": [0, 0]})
    assert records(table) == [Records([b"a", None], [b'{"v":1}', b'{"v":2}'])]


def test_a_retraction_has_no_value_and_needs_a_key() -> None:
    assert records(pa.table({"v": [1], "_key": ["a"], "_emission": ["retract"]})) == [Records([b"a"], [None])]
    with pytest.raises(JobError) as caught:
        records(pa.table({"v": [1], "_emission": ["retract"]}))
    assert caught.value.code == "WR895"


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (KafkaError._TIMED_OUT, FailureClass.TRANSIENT, "WR860"),
        (KafkaError._TRANSPORT, FailureClass.TRANSIENT, "WR860"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, FailureClass.PERMANENT, "WR862"),
        (KafkaError.MSG_SIZE_TOO_LARGE, FailureClass.DATA, "WR893"),
        (KafkaError._FENCED, FailureClass.PERMANENT, "WR894"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, FailureClass.PERMANENT, "WR861"),
        (KafkaError.POLICY_VIOLATION, FailureClass.PERMANENT, "WR896"),
        (KafkaError.KAFKA_STORAGE_ERROR, FailureClass.RESOURCE, "WR860"),
    ],
)
def test_what_errors_mean(number: int, kind: FailureClass, code: str) -> None:
    error = KafkaException(KafkaError(number))
    assert classify(error) is kind
    told = explain("a:1", error, "write batch 7 to topic t")
    assert told.code == code
    assert "could not write batch 7 to topic t" in told.message
    assert told.hint


def test_an_error_of_another_kind_is_not_tried_again() -> None:
    assert classify(ValueError("x")) is FailureClass.PERMANENT
    assert explain("a:1", ValueError("x"), "write").code == "WR896"
    assert classify(RuntimeError("org.apache.kafka.common.errors.TimeoutException: ...")) is FailureClass.TRANSIENT
