"""What a Kafka source makes of its options, before it asks anybody."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from windrow.compiler import compile_sql
from windrow.connectors.kafka.client import Complaints, asking_settings
from windrow.connectors.kafka.failures import error_of
from windrow.connectors.kafka.security import for_java
from windrow.connectors.kafka.source import _start_options
from windrow.connectors.kafka.source_failures import explain_failure
from windrow.connectors.kafka.source_options import partition_number, partition_sql
from windrow.connectors.kafka.source_settings import SourceSettings, Topics
from windrow.connectors.runtime import SourceRequest
from windrow.errors import UsageError
from windrow.model.types import INT, STRING, ColumnDef
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import fingerprint

SERVERS = {"bootstrap.servers": "b:9092"}
TOPIC = {"topic": "t", **SERVERS}


def settings(options: dict[str, str], type_: object = STRING) -> SourceSettings:
    return SourceSettings.of(SourceRequest("s", (ColumnDef("v", type_),), options, is_bounded=False, job="j"))  # type: ignore[arg-type]


def test_what_is_taken_where_nothing_is_said() -> None:
    found = settings(TOPIC)
    assert (found.format, found.reset, found.group, found.wait, found.client) == (
        "json",
        "earliest",
        "windrow-j",
        30.0,
        {"isolation.level": "read_committed"},
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (SERVERS, "neither is"),
        ({**TOPIC, "topic.pattern": "x"}, "both are given"),
        ({**SERVERS, "topic": "a b"}, "cannot be the name of a topic"),
        ({**SERVERS, "topic.pattern": "("}, "is not a pattern"),
        ({"topic": "t", "bootstrap.servers": "nowhere"}, "is not host:port"),
        ({**TOPIC, "starting.offsets": "earliest"}, "does not name an offset"),
        ({**TOPIC, "starting.offsets": '{"t": {"0": -3}}'}, "-3 is not an offset"),
        ({**TOPIC, "starting.offsets": '{"t": {"0": true}}'}, "True is not an offset"),
        ({**TOPIC, "starting.offsets": "{}", "starting.timestamp": "2026-01-01"}, "exclude each other"),
        ({**TOPIC, "max.offsets.per.trigger": "0"}, "not a number of records"),
        ({**TOPIC, "format": "avro"}, "Avro needs a schema"),
        ({**TOPIC, "format": "protobuf"}, "Protobuf needs a schema"),
        ({**TOPIC, "format": "protobuf", "protobuf.descriptor.file": "x.desc"}, "'protobuf.message' says which message"),
        ({**TOPIC, "format": "protobuf", "schema.registry.url": "http://r", "protobuf.message": "a.B"}, "say it themselves"),
        ({**TOPIC, "format": "protobuf", "protobuf.descriptor.file": "nowhere.desc", "protobuf.message": "a.B"}, "cannot be read"),
        ({**TOPIC, "format": "avro", "avro.schema.file": "nowhere.avsc"}, "cannot be read"),
        ({**TOPIC, "kafka.group.id": "x"}, "'kafka.group.id' cannot be given"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        settings(options)


def test_raw_values_need_one_column_of_text_or_bytes() -> None:
    with pytest.raises(UsageError, match="one column, of type STRING or BINARY"):
        settings({**TOPIC, "format": "raw"}, INT)


def test_partitions_that_offsets_leave_out_follow_the_reset() -> None:
    found = settings({**TOPIC, "starting.offsets": '{"t": {"1": 7}}', "auto.offset.reset": "latest"})
    assert _start_options(found, {"t": 3})["startingOffsets"] == '{"t": {"0": -1, "1": 7, "2": -1}}'


def test_a_login_is_given_to_both_clients() -> None:
    java = {"kafka.sasl.jaas.config": 'x.PlainLoginModule required username="me" password="a\\"b";'}
    assert asking_settings("b:1", settings({**TOPIC, **java}).client, Complaints())["sasl.password"] == 'a"b'
    found = settings({**TOPIC, "kafka.sasl.mechanism": "SCRAM-SHA-256", "kafka.sasl.username": "me", "kafka.sasl.password": 'a"b'})
    assert for_java(found.client)["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="a\\"b";'
    )


def test_topics_that_are_missing() -> None:
    assert Topics(("a", "b"), None).missing_from({"a": 1})
    assert not Topics(("a",), None).missing_from({"a": 1, "b": 1})
    assert Topics((), "x-.*").chosen({"x-1": 2, "y": 1, "a-x-1": 1}) == {"x-1": 2}
    assert Topics((), "x-.*").missing_from({"y": 1})


def test_topics_of_one_source_have_clocks_of_their_own() -> None:
    several = {"topic": "a,b"}
    assert partition_sql({"topic": "a"}) == "_partition"
    assert partition_number(several, "a", 0) != partition_number(several, "b", 0)
    assert partition_sql({"topic.pattern": "a"}) == partition_sql(several)


SQL = """
CREATE STREAM s (v INT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'bootstrap.servers' = '{servers}', 'kafka.sasl.password' = 'hush',
  'schema.registry.basic.auth.user.info' = 'me:hush');
EXPLAIN SELECT v FROM s;
DESCRIBE s;
SELECT v FROM s;
"""


def test_no_secret_is_printed() -> None:
    compiled = compile_sql(SQL.format(topic="t", servers="b:1"), "x.sql", {})
    shown = "\n".join(map(str, compiled.answers))
    assert "bootstrap.servers" in shown
    assert "hush" not in shown


def test_a_job_goes_on_with_another_address_but_not_with_another_topic() -> None:
    def essence(topic: str, servers: str) -> str:
        job = compile_sql(SQL.format(topic=topic, servers=servers), "x.sql", {}).plan.jobs[0]
        return fingerprint(job_to_json(job))

    assert essence("t", "b:1") == essence("t", "c:2")
    assert essence("t", "b:1") != essence("u", "b:1")


def test_failures_that_are_not_of_kafka_are_left_to_others() -> None:
    assert explain_failure(ValueError("no")) is None
    gone = explain_failure(ValueError("[KAFKA_DATA_LOSS.START_OFFSET_RESET] some offsets"))
    assert gone is not None
    assert gone.code == "WR863"


def test_that_a_client_is_beyond_repair_hides_no_reason() -> None:
    complaints = Complaints()
    fenced = KafkaException(KafkaError(KafkaError._FENCED))
    complaints.note(KafkaError(KafkaError._FATAL, fatal=True))
    assert complaints.or_worse(fenced) is fenced
    complaints.note(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED))
    known = error_of(complaints.or_worse(fenced))
    assert known is not None
    assert known.code() == KafkaError.SASL_AUTHENTICATION_FAILED
