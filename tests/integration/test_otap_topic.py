"""Windows of telemetry as messages in a topic: each window once, whatever is started again."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import windrow
from tests.integration.conftest import Broker
from tests.integration.written import read_topic
from tests.unit.otap.files import at, attribute, log, write
from windrow.cli.main import app
from windrow.connectors.kafka.sink import open_sink
from windrow.connectors.runtime import SinkRequest
from windrow.errors import UsageError
from windrow.model.types import STRING, ColumnDef
from windrow.otap.rebuild.otlp import REQUESTS
from windrow.otap.rebuild.wire import decode_batch

RUN = CliRunner()


def export(folder: Path, broker: Broker, topic: str, *more: str) -> str:
    to = ["--topic", topic, "--bootstrap-servers", broker.address, "--set", "request.timeout=20s"]
    done = RUN.invoke(app, ["otap", "export", str(folder), *to, *more])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def telemetry(tmp_path: Path) -> Path:
    """Two partitions with the same ids, rows of three minutes."""
    for part in ("A", "B"):
        rows = [log(at("13:46:30") + n * 30 * 10**9, n, body={"type": 1, "str": f"{part}{n}"}) for n in range(5)]
        write(tmp_path / "data", "logs", rows, part)
        write(tmp_path / "data", "log_attrs", [attribute(n, "number", f"{part}{n}") for n in range(5)], part)
    return tmp_path / "data"


def test_windows_go_to_a_topic_once(broker: Broker, telemetry: Path, tmp_path: Path) -> None:
    topic, to = broker.topic(), ["--format", "otap", "--to", "2025-09-18T13:48:00Z"]
    export(telemetry, broker, topic, *to)
    # What comes late is for a window that is written; what is new is written.
    shutil.copytree(telemetry / "logs" / "_part_id=A", telemetry / "logs" / "_part_id=C")
    assert "windows up to 2025-09-18" in export(telemetry, broker, topic, *to[:2])
    assert "0 rows" in export(telemetry, broker, topic, *to[:2])
    records = read_topic(broker.address, topic, as_json=False)
    texts: list[tuple[str, str]] = []
    for record in records:
        _, tables = decode_batch(record.value or b"")
        part = record.key or ""
        assert record.headers["windrow-part-id"] == part
        assert tables["logs"]["id"].to_pylist() == list(range(tables["logs"].num_rows))
        texts += [(part, body["str"]) for body in tables["logs"]["body"].to_pylist()]
    before = [(part, f"{part}{n}") for part in ("A", "B") for n in range(3)]
    after = [(part, f"{text}{n}") for part, text in (("A", "A"), ("B", "B"), ("C", "A")) for n in (3, 4)]
    assert sorted(texts) == sorted(before + after)


def test_messages_that_are_too_long_are_cut(broker: Broker, tmp_path: Path) -> None:
    text = "".join(chr(33 + n * 7919 % 90) for n in range(3_000))
    rows = [log(at("13:46:30"), n, body={"type": 1, "str": f"{n} {text}"}) for n in range(1_000)]
    write(tmp_path, "logs", rows)
    topic = broker.topic()
    export(tmp_path, broker, topic, "--format", "otlp")
    requests = [REQUESTS["logs"].FromString(record.value or b"") for record in read_topic(broker.address, topic, as_json=False)]
    assert len(requests) == 4
    assert sum(len(inner.log_records) for one in requests for outer in one.resource_logs for inner in outer.scope_logs) == 1_000


def test_a_topic_that_is_not_there_is_said(broker: Broker, telemetry: Path) -> None:
    done = RUN.invoke(app, ["otap", "export", str(telemetry), "--topic", "not-there", "--bootstrap-servers", broker.address])
    assert done.exit_code != 0
    assert "topic.create" in str(done.exception) + done.output


def _job(broker: Broker, telemetry: Path, topic: str, tmp_path: Path, **more: str) -> str:
    given = {"connector": "kafka", "topic": topic, "bootstrap.servers": broker.address, "value.format": "otlp", "signal": "logs"}
    options = ", ".join(f"'{key}' = '{value}'" for key, value in {**given, **more}.items())
    return f"""
    CREATE STREAM logs WITH ('connector' = 'otap', 'path' = '{telemetry}', 'table' = 'logs', 'window.granularity' = '1m');
    CREATE STREAM out AS SELECT time_unix_nano, body, attributes FROM logs WHERE attributes['number'] <> 'A2' WITH ({options});
    """


def _run(sql: str, spark: SparkSession, state: Path) -> None:
    jobs = windrow.run(sql, spark=spark, mode="once", state=state)
    assert jobs.await_end(120)
    assert jobs.status()[0].ledger.is_balanced


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_job_writes_telemetry_to_a_topic(broker: Broker, telemetry: Path, spark: SparkSession, tmp_path: Path, delivery: str) -> None:
    topic = broker.topic()
    _run(_job(broker, telemetry, topic, tmp_path, delivery=delivery), spark, tmp_path / "state")
    records = read_topic(broker.address, topic, as_json=False)
    assert {(one.headers["content-type"], one.headers["windrow-signal"]) for one in records} == {("application/x-protobuf", "logs")}
    requests = [REQUESTS["logs"].FromString(one.value or b"") for one in records]
    found = [log for one in requests for part in one.resource_logs for scope in part.scope_logs for log in scope.log_records]
    texts = sorted(one.body.string_value for one in found)
    assert texts == sorted(f"{part}{n}" for part in "AB" for n in range(5) if (part, n) != ("A", 2))
    assert all(one.attributes[0].value.string_value == one.body.string_value for one in found)


def test_telemetry_as_json_lines_of_a_topic(broker: Broker, telemetry: Path, spark: SparkSession, tmp_path: Path) -> None:
    topic = broker.topic()
    _run(_job(broker, telemetry, topic, tmp_path, **{"value.format": "otlp-json"}), spark, tmp_path / "state")
    records = read_topic(broker.address, topic)
    bodies = [log["body"]["stringValue"] for one in records for log in one.value["resourceLogs"][0]["scopeLogs"][0]["logRecords"]]
    assert len(bodies) == 9


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"signal": ""}, "need 'signal'"),
        ({"value.format": "json"}, "'signal' is for values that are telemetry"),
        ({"format": "otlp-json"}, "contradict each other"),
        ({"failure.policy": "dead_letter"}, "cannot tell the rows in a record of otlp apart"),
        ({"signal": "traces"}, 'no place for the column "body"'),
    ],
)
def test_wrong_options_for_telemetry(more: dict[str, str], message: str) -> None:
    given = {"topic": "t", "bootstrap.servers": "localhost:1", "value.format": "otlp", "signal": "logs", **more}
    options = {key: value for key, value in given.items() if value}
    request = SinkRequest("out", options, "job", columns=(ColumnDef("body", STRING),))
    with pytest.raises(UsageError, match=re.escape(message)):
        open_sink(None, request)  # type: ignore[arg-type]  # no Spark is needed to refuse
