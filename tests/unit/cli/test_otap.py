"""``windrow otap`` and ``windrow receiver`` as far as they need no Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from windrow.cli.main import app
from windrow.otap.rebuild.wire import decode_batch, read_delimited

RUN = CliRunner()


@pytest.fixture(scope="module")
def telemetry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("otap") / "telemetry"
    made = RUN.invoke(
        app, ["otap", "generate", str(folder), "--signals", "logs", "--duration", "90s", "--drift", "1s", "--late-files", "1"]
    )
    assert made.exit_code == 0, made.output
    assert "late files are in" in made.output
    return folder


def test_errors_as_json_lines_and_again_the_same(telemetry: Path, tmp_path: Path) -> None:
    arguments = ["otap", "export", str(telemetry), str(tmp_path), "--where", "severity_number >= 17", "--ids", "batch_local"]
    first = RUN.invoke(app, arguments)
    assert first.exit_code == 0, first.output
    contents = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    assert RUN.invoke(app, arguments).output == first.output
    assert contents == {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    records = [
        record
        for content in contents.values()
        for line in content.splitlines()
        for resource in json.loads(line)["resourceLogs"]
        for scope in resource["scopeLogs"]
        for record in scope["logRecords"]
    ]
    assert records
    assert all(record["severityNumber"] >= 17 for record in records)


def test_a_window_as_otap(telemetry: Path, tmp_path: Path) -> None:
    bounds = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T00:01:00Z"]
    done = RUN.invoke(app, ["otap", "export", str(telemetry), str(tmp_path), "--format", "otap", *bounds])
    assert done.exit_code == 0, done.output
    files = sorted(tmp_path.rglob("*.otap"))
    assert {file.parent.name for file in files} == {"20260101T000000Z"}
    assert all(set(decode_batch(message)[1]) >= {"logs", "log_attrs"} for file in files for message in read_delimited(file.read_bytes()))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["otap", "generate", "x", "--signals", "sounds"], "WR618"),
        (["otap", "generate", "x", "--layout", "flat"], "WR619"),
        (["otap", "generate", "x", "--start", "soon"], "WR618"),
        (["otap", "generate", "x", "--duration", "long"], "WR618"),
        (["otap", "export", "nowhere", "x"], "WR882"),
        (["otap", "export", "nowhere"], "WR619"),
        (["otap", "export", "nowhere", "x", "--topic", "t"], "WR619"),
        (["otap", "export", "nowhere", "x", "--granularity", "1ms"], "WR618"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = RUN.invoke(app, arguments)
    assert done.exit_code == 2
    assert code in done.output


def test_a_condition_that_is_not_understood(telemetry: Path, tmp_path: Path) -> None:
    done = RUN.invoke(app, ["otap", "export", str(telemetry), str(tmp_path), "--where", "severty > 1"])
    assert done.exit_code == 2
    assert "WR886" in done.output


def test_a_receiver_needs_an_otap_source_and_a_state(tmp_path: Path) -> None:
    other, own = tmp_path / "other.sql", tmp_path / "own.sql"
    other.write_text("CREATE STREAM t (a INT) WITH ('connector' = 'generator'); SELECT a FROM t;")
    own.write_text("CREATE STREAM t WITH ('connector' = 'otap', 'path' = 'x', 'table' = 'logs'); SELECT id FROM t;")
    assert "WR885" in RUN.invoke(app, ["receiver", "late", str(other)]).output
    assert "WR621" in RUN.invoke(app, ["receiver", "status", str(own), "--state", str(tmp_path)]).output


def test_a_query_is_looked_at_before_spark_starts(tmp_path: Path) -> None:
    def said(*given: str) -> str:
        return RUN.invoke(app, ["receiver", "query", str(tmp_path), *given]).output

    assert "there is no table" in said("--table", "log")
    assert "WR886" in said("--sql", "SELECT 1")
    assert "WR886" in said("--sql", "SELECT {start} FROM logs")
    assert "put the condition into --sql" in said("--sql", "SELECT 1 FROM logs", "--where", "id = 1")
    assert "has no value" in said("--sql", "SELECT :a FROM logs", "--param", "a")
    assert "is not a duration" in said("--query-timeout", "soon")
