"""Telemetry rebuilt from windows: OTAP batches and OTLP requests."""

from __future__ import annotations

import json
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest

from tests.unit.otap.files import at, attribute, log, write
from tests.unit.otap.rig import batches, collector
from windrow.otap.generate.settings import SECOND, SIGNALS, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.otap.rebuild.batches import to_batches
from windrow.otap.rebuild.collect import ROOTS, Tables
from windrow.otap.rebuild.otlp import to_json_line, to_request
from windrow.otap.rebuild.wire import decode_batch, encode_batch, read_delimited, write_delimited
from windrow.otap.tables import TABLES
from windrow.otap.timing import MINUTE, Timing, busy_windows


def test_ids_are_marked_as_plain_numbers(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:47:10"), 0)])
    write(tmp_path, "log_attrs", [attribute(0, "k", "v")])
    (only,) = batches(tmp_path)
    _, back = decode_batch(encode_batch(1, only[1]))
    schema = back["logs"].schema
    assert schema.field("id").metadata == back["log_attrs"].schema.field("parent_id").metadata == {b"encoding": b"plain"}
    assert schema.field("resource").type.field("id").metadata == schema.field("scope").type.field("id").metadata == {b"encoding": b"plain"}


def whole(base: Path, signal: str) -> list[Tables]:
    """Every batch of every window."""
    own = collector(base, signal, ids="batch_local")
    ranges = [file.times for files in own.files.values() for file in files if file.times is not None]
    start = min(low for low, _ in ranges) // MINUTE * MINUTE
    windows = busy_windows(Timing(), start, max(high for _, high in ranges) + 1, ranges)
    return [batch for window in windows for _, tables in own.windows(window) for batch in to_batches(ROOTS[signal], tables)]


@pytest.fixture(scope="module")
def telemetry(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Counter[str]]:
    folder = tmp_path_factory.mktemp("telemetry")
    rows: Counter[str] = Counter()
    for file in generate(Telemetry(length=60 * SECOND, drift=5 * SECOND, rows_per_second=10), folder):
        rows[file.table] += file.rows
    return folder, rows


@pytest.mark.parametrize("signal", SIGNALS)
def test_what_was_generated_comes_back_over_the_wire(telemetry: tuple[Path, Counter[str]], signal: str) -> None:
    folder, rows = telemetry
    out = BytesIO()
    for number, tables in enumerate(whole(folder, signal)):
        write_delimited(out, encode_batch(number, tables))
    read = [decode_batch(message) for message in read_delimited(out.getvalue())]
    assert [number for number, _ in read] == list(range(len(read)))
    counts: Counter[str] = Counter()
    for _, tables in read:
        for name, table in tables.items():
            counts[name] += table.num_rows
            kind = TABLES[name]
            if kind.parent is not None:
                assert set(table["parent_id"].to_pylist()) <= set(tables[kind.parent]["id"].to_pylist()), name
    assert {name: counts[name] for name in counts if not name.startswith(("resource", "scope"))} == {
        name: rows[name] for name in counts if not name.startswith(("resource", "scope"))
    }


def test_logs_as_otlp(telemetry: tuple[Path, Counter[str]]) -> None:
    folder, rows = telemetry
    lines = [json.loads(to_json_line(to_request("logs", tables))) for tables in whole(folder, "logs")]
    count = wrong = 0
    for line in lines:
        for resource in line["resourceLogs"]:
            host = {a["key"]: a["value"] for a in resource["resource"]["attributes"]}["host.name"]["stringValue"]
            for record in (record for scope in resource["scopeLogs"] for record in scope["logRecords"]):
                count += 1
                wrong += not record["body"]["stringValue"].endswith(f" on {host}")
                assert isinstance(record["severityNumber"], int)
                assert len(record.get("traceId", "0" * 32)) == 32
    assert count == rows["logs"]
    # Logs without an id between two batches may be given to the wrong one.
    assert wrong <= count / 100


def test_spans_as_otlp(telemetry: tuple[Path, Counter[str]]) -> None:
    folder, rows = telemetry
    spans = [
        span
        for tables in whole(folder, "traces")
        for resource in to_request("traces", tables).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert len(spans) == rows["spans"]
    assert sum(len(span.events) for span in spans) == rows["span_events"]
    assert sum(len(span.links) for span in spans) == rows["span_links"]
    assert sum(len(event.attributes) for span in spans for event in span.events) == rows["span_event_attrs"]
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano > 0 for span in spans)


def test_metrics_as_otlp(telemetry: tuple[Path, Counter[str]]) -> None:
    folder, rows = telemetry
    counts: Counter[str] = Counter()
    for tables in whole(folder, "metrics"):
        for resource in to_request("metrics", tables).resource_metrics:
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                points = getattr(metric, metric.WhichOneof("data")).data_points
                counts[metric.WhichOneof("data")] += len(points)
                counts["exemplars"] += sum(len(point.exemplars) for point in points if hasattr(point, "exemplars"))
    assert counts["gauge"] + counts["sum"] == rows["number_data_points"]
    assert counts["histogram"] == rows["histogram_data_points"]
    assert counts["exponential_histogram"] == rows["exp_histogram_data_points"]
    assert counts["summary"] == rows["summary_data_points"]
    assert counts["exemplars"] == sum(rows[f"{kind}_dp_exemplars"] for kind in ("number", "histogram", "exp_histogram"))
