"""Windows of telemetry as messages in a topic: each window once, whatever is started again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.integration.conftest import Broker
from tests.integration.written import read_topic
from tests.unit.otap.files import at, attribute, log, write
from windrow.cli.main import app
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
