"""The OTAP data source without Spark: its options, its offsets, and rows in the types that SQL was promised."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from windrow.compiler import compile_sql
from windrow.connectors.otap.reader import OtapReader, OtapSource
from windrow.connectors.otap.runtime import watermark_of
from windrow.connectors.otap.settings import read_settings
from windrow.connectors.otap.shape import arrow_type
from windrow.connectors.otap.spec import OTAP
from windrow.errors import SqlError, UsageError
from windrow.otap.columns import TABLES, columns_of
from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import fingerprint
from windrow.plan.stages import Read

DEFAULTS = {option.key: option.default for option in OTAP.source or () if option.default is not None}


def reader(data: Path, notes: Path, table: str, ended: str = "true", **options: str) -> OtapReader:
    columns = pa.schema([(column.name, arrow_type(column.type)) for column in columns_of({"table": table})])
    given = {
        "columns": columns.serialize().to_pybytes().hex(),
        "options": json.dumps({**DEFAULTS, "path": str(data), "table": table, **options}),
        "notes": str(notes),
        "ended": ended,
    }
    made = OtapSource(given).streamReader(None)  # type: ignore[arg-type]  # the schema is not looked at
    assert isinstance(made, OtapReader)
    return made


def batches(source: OtapReader) -> list[pa.RecordBatch]:
    """All of it, each share read by a copy as Spark's workers have it."""
    found: list[pa.RecordBatch] = []
    offset: dict[str, Any] = source.initialOffset()
    while (end := source.latestOffset(offset, None)) != offset:  # type: ignore[arg-type]  # no limit
        for share in source.partitions(offset, end):
            found += pickle.loads(pickle.dumps(source)).read(share)
        offset = end
    return found


@pytest.fixture(scope="module")
def telemetry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("telemetry")
    generate(Telemetry(length=90 * SECOND, drift=5 * SECOND), folder)
    return folder


@pytest.mark.parametrize("table", TABLES)
def test_every_table_comes_in_the_promised_types(telemetry: Path, tmp_path: Path, table: str) -> None:
    found = pa.Table.from_batches(batches(reader(telemetry, tmp_path, table)))
    promised = {column.name: arrow_type(column.type) for column in columns_of({"table": table})}
    assert {name: found.schema.field(name).type for name in promised} == promised
    # Only what made-up telemetry never has is empty throughout: a column that is misspelled would be, too.
    empty = {name for name in promised if found[name].null_count == found.num_rows}
    assert empty <= {"schema_url", "event_name", "trace_state"}
    assert found["_seq"][0].as_py() == 0


def test_rows_of_a_share_are_in_the_order_of_time(telemetry: Path, tmp_path: Path) -> None:
    for batch in batches(reader(telemetry, tmp_path, "logs")):
        times = batch["time"].to_pylist()
        assert times == sorted(times)


def test_the_watermark_is_the_end_of_the_window_in_microseconds() -> None:
    assert watermark_of({"until_ns": 60_000_000_000}) == 60_000_000
    assert watermark_of({"until_ns": None}) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window.granularity": "999ms"}, "Window granularity must be at least 1 second"),
        ({"processing.delay": "119s"}, "Processing delay must be at least max clock drift plus max file duration"),
        ({"start.time": "yesterday"}, "not a time"),
        ({"max.concurrent.windows": "0"}, "at least one window"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_settings({**DEFAULTS, "path": "x", "table": "logs", **options})


def read_columns(definition: str, query: str) -> list[str]:
    compiled = compile_sql(f"CREATE STREAM logs {definition} WITH ('connector' = 'otap', 'path' = 'x', 'table' = 'logs'); {query}")
    read = next(stage for stage in compiled.plan.jobs[0].stages if isinstance(stage, Read))
    assert read.time.column == "time"
    return [column.name for column in read.columns]


def test_a_list_of_columns_chooses_and_without_one_all_are_there() -> None:
    assert read_columns("(severity_number INT, flags BIGINT)", "SELECT * FROM logs") == ["time", "severity_number", "flags"]
    assert len(read_columns("", "SELECT * FROM logs")) == len(columns_of({"table": "logs"}))
    with pytest.raises(SqlError, match="WR214"):
        read_columns("", "SELECT severity FROM logs")


def test_explain_says_what_the_watermark_is() -> None:
    end = "WITH ('connector' = 'otap', 'path' = 'x', 'table' = 'logs')"
    sql = f"CREATE STREAM logs {end}; SELECT COUNT(*) AS n FROM logs WINDOW TUMBLING(1m)"
    shown = compile_sql(sql).explain()
    assert shown.count("the end of the last window that was handed over") == 2
    assert "greatest event time" not in shown


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT COUNT(*) AS n FROM logs WINDOW TUMBLING(1m)", ["time"]),
        ("SELECT l.Severity_Number FROM logs l WHERE attributes['a'] = 'b'", ["time", "severity_number", "attributes"]),
        ("SELECT body.str AS text FROM logs WHERE _part_id = 'x'", ["time", "_part_id", "body"]),
        ("WITH a AS (SELECT flags FROM logs) SELECT flags FROM a", ["time", "flags"]),
    ],
)
def test_only_columns_that_are_named_are_read(query: str, columns: list[str]) -> None:
    assert read_columns("", query) == columns


def test_a_file_of_settings_is_taken_while_the_source_runs(telemetry: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "receiver.json"
    options = {"settings.file": str(file), "now": "2026-01-01T00:03:00Z"}
    source = reader(telemetry, tmp_path / "notes", "logs", ended="false", **options)
    midnight, minute = 1_767_225_600 * SECOND, 60 * SECOND

    def reached(done: int | None) -> int | None:
        return source.latestOffset({"until_ns": done}, None)["until_ns"]  # type: ignore[arg-type]  # no limit

    def change(text: str) -> None:
        before = file.stat().st_mtime_ns if file.exists() else 0
        file.write_text(text)
        os.utime(file, ns=(before + 1, before + 1))

    assert reached(None) is None, "nothing is safe for twelve minutes"
    change('{"processing.delay": "1m", "max.clock.drift": "30s", "max.file.duration": "30s"}')
    assert reached(None) == midnight
    change('{"processing.delay": "1s", "max.clock.drift": "30s"}')
    assert reached(midnight) == midnight + minute
    assert "settings stay as they were: Processing delay must be at least" in caplog.text
    change('{"table": "spans"}')
    assert reached(midnight + minute) == midnight + minute
    assert '"table" cannot be changed while a job runs' in caplog.text
    change('{"processing.delay": "20s", "max.clock.drift": "10s", "max.file.duration": "10s"}')
    assert reached(midnight + minute) == midnight + 2 * minute


@pytest.mark.parametrize("text", ["{", "[]", '{"path": "x"}', '{"max.concurrent.windows": "many"}', '{"processing.delay": "soon"}'])
def test_a_job_does_not_start_with_a_wrong_file_of_settings(tmp_path: Path, text: str) -> None:
    file = tmp_path / "receiver.json"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_settings({**DEFAULTS, "path": "x", "table": "logs", "settings.file": str(file)})
    assert caught.value.code == "WR881"


def test_a_job_goes_on_with_other_times_but_not_with_another_table() -> None:
    def essence(table: str, delay: str) -> str:
        sql = f"CREATE STREAM t WITH ('connector' = 'otap', 'path' = 'x', 'table' = '{table}', 'processing.delay' = '{delay}');"
        (job,) = compile_sql(f"{sql} SELECT id FROM t;", "x.sql", {}).plan.jobs
        return fingerprint(job_to_json(job))

    assert essence("logs", "5m") == essence("logs", "9m")
    assert essence("logs", "5m") != essence("spans", "5m")
