"""The rows of windows, and what the generator wrote, read back. The scenarios are in test_otap_scenarios.py."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.otap.files import at, attribute, log, write
from tests.unit.otap.rig import LOGS, minute, read
from windrow.otap.cbor import dump
from windrow.otap.covers import Covering
from windrow.otap.discovery import Discovery, TimeRule
from windrow.otap.footers import FooterCache
from windrow.otap.generate.settings import Encoding, Ids, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.otap.layout import Base
from windrow.otap.origins import find_owners
from windrow.otap.tables import timed_by
from windrow.otap.timing import MINUTE, SECOND, Timing, windows_in
from windrow.otap.windows import Reading, Seen, WindowReader


def test_the_types_of_attribute_values_as_text(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("14:00"), 0)])
    values = [
        {"key": "str", "type": 1, "str": "x", "int": 5},
        {"key": "int", "type": 2, "int": -5},
        {"key": "double", "type": 3, "double": 1.5},
        {"key": "bool", "type": 4, "bool": False},
        {"key": "map", "type": 5, "ser": dump({"a": [1, None]})},
        {"key": "slice", "type": 6, "ser": dump(["é"])},
        {"key": "bytes", "type": 7, "bytes": b"\x00\xff"},
        {"key": "empty", "type": 0, "str": "ignored"},
        {"key": "unknown", "type": 9, "str": "ignored"},
        {"key": "torn", "type": 5, "ser": b"\x9f"},
        {"key": "twice", "type": 1, "str": "first"},
        {"key": "twice", "type": 1, "str": "last"},
    ]
    write(tmp_path, "log_attrs", [{"parent_id": 0, **value} for value in values])
    assert read(tmp_path, minute("14:00"))[0][0]["attributes"] == {
        "str": "x", "int": "-5", "double": "1.5", "bool": "false", "map": '{"a":[1,null]}', "slice": '["é"]', "bytes": "AP8=",
        "empty": None, "unknown": None, "torn": None, "twice": "last",
    }  # fmt: skip


def test_a_file_that_is_torn_after_it_was_found_costs_its_rows_only(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("14:00"))], "A")
    torn = write(tmp_path, "logs", [log(at("14:00"))], "B")
    discovery = Discovery(Base(str(tmp_path)), FooterCache(), Timing(), TimeRule())
    covers = Covering(discovery, "logs", "batch_local").covers(discovery.timed_files("logs"), minute("14:00"))
    torn.write_bytes(b"PAR1")
    reader = WindowReader(Base(str(tmp_path)), LOGS)
    assert [None if table is None else table.num_rows for table in map(reader.read, covers)] == [1, None]
    assert list(reader.seen.faults) == ["logs/_part_id=B/part-x.parquet"]


def test_rows_outside_of_what_a_name_stands_for_are_noted(tmp_path: Path) -> None:
    name = "part-20250918T140000Z-a1b2c3d4.parquet"
    write(tmp_path, "logs", [log(at("14:00")), log(at("12:00"))], name=name, write_statistics=False)
    rows, seen = read(tmp_path, minute("14:00"))
    assert len(rows) == 1
    assert "1 rows lie outside" in seen.faults[f"logs/_part_id=A/{name}"]


def test_a_failing_disk_is_not_taken_for_a_damaged_file(tmp_path: Path) -> None:
    base = Base(str(tmp_path))
    with pytest.raises(OSError, match="Input/output error"):
        base.damage(OSError(5, "Input/output error"))
    assert base.damage(FileNotFoundError(2, "gone")).endswith("gone")
    assert base.damage(OSError("Unexpected end of stream")) == "Unexpected end of stream"


def _linked_spans(base: Path) -> None:
    """Two spans that end a minute apart; the first has two events and two links, one of them with an attribute."""
    span = {"name": "x", "trace_id": b"t" * 16, "span_id": b"s" * 8, "resource": {"id": 0}, "scope": {"id": 0}}
    times = [{"start_time_unix_nano": at(end) - MINUTE, "duration_time_unix_nano": MINUTE} for end in ("13:00", "13:01")]
    write(base, "spans", [{**span, **own, "id": number} for number, own in enumerate(times)])
    write(
        base,
        "span_events",
        [{"id": 0, "parent_id": 0, "time_unix_nano": 5, "name": "a"}, {"parent_id": 0, "time_unix_nano": 6, "name": "b"}],
    )
    write(base, "span_event_attrs", [attribute(0, "why", "because"), attribute(7, "why", "nobody's")])
    links = [
        {"id": 3, "parent_id": 0, "trace_id": b"1" * 16},
        {"parent_id": 0, "trace_id": b"2" * 16},
        {"parent_id": 1, "trace_id": b"3" * 16},
    ]
    write(base, "span_links", [{"span_id": b"l" * 8, **link} for link in links])
    write(base, "span_link_attrs", [attribute(3, "kind", "follows")])
    write(base, "resource_attrs", [attribute(0, "host", "h")])


def test_spans_hold_their_events_and_links(tmp_path: Path) -> None:
    _linked_spans(tmp_path)
    (row,) = read(tmp_path, minute("13:00"), Reading("spans", ids="partition_unique"))[0]
    assert [(event["name"], event["time_unix_nano"], dict(event["attributes"])) for event in row["events"]] == [
        ("a", 5, {"why": "because"}),
        ("b", 6, {}),
    ]
    assert [(link["trace_id"][:4], link["span_id"][:4], dict(link["attributes"])) for link in row["links"]] == [
        ("3131", "6c6c", {"kind": "follows"}),
        ("3232", "6c6c", {}),
    ]
    (other,) = read(tmp_path, minute("13:01"), Reading("spans", ids="partition_unique"))[0]
    assert (other["events"], len(other["links"])) == ([], 1)
    rows, seen = read(tmp_path, minute("13:01"), Reading("spans", columns=frozenset({"name"})))
    assert "links" not in rows[0]
    assert seen.bytes < 1000


def test_links_come_when_their_span_does(tmp_path: Path) -> None:
    _linked_spans(tmp_path)
    rows, _ = read(tmp_path, minute("13:00"), Reading("span_links", ids="partition_unique"))
    found = [
        (row["trace_id"][:1], row["attributes"], row["from_trace_id"][:1], row["span_name"], row["resource_attributes"]) for row in rows
    ]
    assert found == [(b"1", {"kind": "follows"}, b"t", "x", {"host": "h"}), (b"2", {}, b"t", "x", {"host": "h"})]
    assert {row["_placed"] for row in rows} == {at("13:00")}
    assert [row["_row"] for row in rows] == [0, 1]
    assert len(read(tmp_path, minute("13:01"), Reading("span_links"))[0]) == 1
    started = Reading("span_links", TimeRule(span_time="start"))
    assert len(read(tmp_path, minute("13:00"), started)[0]) == 1


def test_points_hold_their_exemplars(tmp_path: Path) -> None:
    write(tmp_path, "number_data_points", [{"id": 9, "parent_id": 4, "time_unix_nano": at("14:00"), "int_value": 1}])
    write(tmp_path, "number_dp_exemplars", [{"id": 2, "parent_id": 9, "double_value": 0.5, "span_id": b"s" * 8}])
    write(tmp_path, "number_dp_exemplar_attrs", [attribute(2, "core", "0")])
    (row,) = read(tmp_path, minute("14:00"), Reading("number_data_points"))[0]
    assert [(one["double_value"], one["span_id"], dict(one["attributes"])) for one in row["exemplars"]] == [(0.5, "73" * 8, {"core": "0"})]


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("14:00"), 0, severity_text="INFO" * 100)])
    write(tmp_path, "log_attrs", [attribute(0, "k", "v")])
    everything = read(tmp_path, minute("14:00"))[1]
    rows, some = read(tmp_path, minute("14:00"), replace(LOGS, columns=frozenset({"severity_number"})))
    assert "attributes" not in rows[0]
    assert some.bytes < everything.bytes


@pytest.mark.parametrize(
    ("ids", "resources", "known", "owners", "ambiguous"),
    [
        ([0, 1, 2, 3, 4], [0, 0, 0, 0, 0], [0, 3], [0, 0, 0, 3, 3], 0),
        ([0, None, 2, 3, None], [0, 0, 0, 0, 0], [0, 3], [0, 0, 0, 3, 3], 0),
        # Between two batches, a row without an id may be of either.
        ([0, None, 3], [0, 0, 0], [0, 3], [0, 0, 3], 1),
        ([0, 1, 9, 10], [0, 1, 0, 1], [0, 1, 9, 10], [0, 1, 9, 10], 0),
        # Nobody names resource 1: the run may be one batch, or two.
        ([0, 5], [0, 0], [0, 1], [0, 0], 2),
        ([None, None], [0, 0], [0], [None, None], 2),
    ],
)
def test_batch_local_ids(ids: list[int], resources: list[int], known: list[int], owners: list[int], ambiguous: int) -> None:
    rows = pl.DataFrame({"id": ids, "resource": resources, "scope": resources}, schema=dict.fromkeys(("id", "resource", "scope"), pl.Int64))
    found = find_owners(rows, pl.Series(known), "batch_local")
    assert found["resource_owner"].to_list() == owners
    assert found["is_ambiguous"].sum() == ambiguous


def all_windows(base: Path, reading: Reading) -> tuple[list[dict[str, Any]], Seen]:
    times = [file.times for file in Discovery(Base(str(base)), FooterCache(), Timing(), reading.rule).timed_files(timed_by(reading.table))]
    known = [time for time in times if time is not None]
    rows: list[dict[str, Any]] = []
    total = Seen()
    start = Timing().window_at(min(low for low, _ in known)).start
    for window in windows_in(Timing(), start, max(high for _, high in known) + 1):
        own, seen = read(base, window, reading)
        assert all(window.start <= row["_placed"] < window.end for row in own)
        rows += own
        total.ambiguous += seen.ambiguous
        total.missing |= seen.missing
    return rows, total


@pytest.mark.parametrize(("ids", "encoding"), [("batch_local", "dictionary"), ("partition_unique", "plain")])
def test_logs_come_back_with_what_belongs_to_them(tmp_path: Path, ids: Ids, encoding: Encoding) -> None:
    made = Telemetry(signals=("logs", "metrics"), length=150 * SECOND, ids=ids, encoding=encoding, without_time=0.01)
    files = generate(made, tmp_path)
    rows, seen = all_windows(tmp_path, Reading("logs", ids=ids))
    assert len(rows) == sum(file.rows for file in files if file.table == "logs")
    assert seen.missing == set()
    numbers = Counter((row["part"], row["attributes"]["log.number"]) for row in rows if row["attributes"])
    assert set(numbers.values()) == {1}
    wrong = [row for row in rows if not row["body"]["str"].endswith(f" on {row['resource_attributes'].get('host.name')}")]
    assert len(wrong) <= seen.ambiguous <= len(rows) / 50
    assert all(f" {row['attributes']['http.status_code']} " in row["body"]["str"] for row in rows if row["attributes"])


@pytest.mark.parametrize(
    "table", ["spans", "span_events", "span_links", "number_data_points", "histogram_dp_exemplars", "summary_data_points"]
)
def test_other_signals_come_back_complete(tmp_path: Path, table: str) -> None:
    made = Telemetry(length=90 * SECOND, partitions=1)
    files = generate(made, tmp_path)
    rows, seen = all_windows(tmp_path, Reading(table))
    assert len(rows) == sum(file.rows for file in files if file.table == table)
    assert seen.missing == set()
    assert all(row["resource_attributes"]["host.name"].startswith("p0-host-") for row in rows)
    points = [row for row in rows if "point.number" in row["attributes"]]
    assert all(row["attributes"]["host.name"] == row["resource_attributes"]["host.name"] for row in points)
