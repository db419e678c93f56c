"""Telemetry rebuilt from windows: OTAP batches and OTLP requests; scenarios 3, 7, 9, 11 and 12."""

from __future__ import annotations

import json
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.unit.otap.files import at, attribute, log, write
from windrow.otap.discovery import Discovery, TimeRule
from windrow.otap.footers import FooterCache
from windrow.otap.generate.settings import SECOND, SIGNALS, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.otap.places import Base
from windrow.otap.rebuild.batches import to_batches
from windrow.otap.rebuild.collect import ROOTS, Choose, Collector, Tables
from windrow.otap.rebuild.otlp import to_json_line, to_request
from windrow.otap.rebuild.wire import decode_batch, encode_batch, read_delimited, write_delimited
from windrow.otap.tables import TABLES
from windrow.otap.timing import MINUTE, Timing, Window, busy_windows
from windrow.otap.windows import Reading

MINUTE_1347 = Window(at("13:47"), at("13:48"))


def collector(base: Path, signal: str = "logs", choose: Choose = lambda rows: rows, ids: Any = "partition_unique") -> Collector:
    discovery = Discovery(Base(str(base)), FooterCache(), Timing(), TimeRule())
    return Collector(Base(str(base)), discovery, signal, Reading(ROOTS[signal], ids=ids), choose)


def batches(base: Path, **options: Any) -> list[tuple[str, Tables]]:
    return [(part, batch) for part, tables in collector(base, **options).windows(MINUTE_1347) for batch in to_batches("logs", tables)]


def test_one_batch_a_partition_with_ids_of_its_own(tmp_path: Path) -> None:
    for part in ("A", "B"):
        write(tmp_path, "logs", [log(at("13:47:10"), 700_007, 70_000 % 65_536), log(at("13:47:20")), log(at("13:48:10"), 700_008)], part)
        write(tmp_path, "log_attrs", [attribute(700_007, "where", part), attribute(700_008, "no", "x"), attribute(9, "no", "x")], part)
        write(tmp_path, "resource_attrs", [attribute(70_000 % 65_536, "host", part)], part)
    made = batches(tmp_path)
    assert [part for part, _ in made] == ["A", "B"]
    for part, tables in made:
        assert tables["logs"]["id"].to_pylist() == [0, None]
        assert tables["log_attrs"].select(["parent_id", "str"]).to_pylist() == [{"parent_id": 0, "str": part}]
        assert tables["resource_attrs"].select(["parent_id", "str"]).to_pylist() == [{"parent_id": 0, "str": part}]
        assert [struct["id"] for struct in tables["logs"]["resource"].to_pylist()] == [0, 1]


def test_what_belongs_to_rows_left_out_is_left_out(tmp_path: Path) -> None:
    rows = [log(at("13:47:10"), n, severity_number=n) for n in (9, 17, 9, 21)]
    rows = [{**row, "id": n} for n, row in enumerate(rows)]
    write(tmp_path, "logs", [*rows, log(at("13:47:30"), None, severity_number=17)])
    write(tmp_path, "log_attrs", [attribute(n, "n", str(n)) for n in range(4)])
    (only,) = batches(tmp_path, choose=lambda rows: rows.filter(pc.greater_equal(rows["severity_number"], 17)))
    assert only[1]["logs"]["id"].to_pylist() == [0, 1, None]
    assert only[1]["log_attrs"].select(["parent_id", "str"]).to_pylist() == [{"parent_id": 0, "str": "1"}, {"parent_id": 1, "str": "3"}]


def test_more_rows_than_ids_fit_are_cut_and_none_is_lost(tmp_path: Path) -> None:
    count = 70_000
    write(tmp_path, "logs", [log(at("13:47:10"), n * 3) for n in range(count)])
    write(tmp_path, "log_attrs", [attribute(n * 3, "n", str(n)) for n in range(count)])
    made = [tables for _, tables in batches(tmp_path)]
    assert [tables["logs"].num_rows for tables in made] == [65_536, count - 65_536]
    for tables in made:
        assert tables["logs"]["id"].type == tables["log_attrs"]["parent_id"].type == pa.uint16()
        assert tables["logs"]["id"].to_pylist() == list(range(tables["logs"].num_rows))
    assert sum(tables["log_attrs"].num_rows for tables in made) == count


def test_missing_attributes_still_give_records(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:47:10"), 0)])
    (only,) = batches(tmp_path)
    assert list(only[1]) == ["logs"]


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
