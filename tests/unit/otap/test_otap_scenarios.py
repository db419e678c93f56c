"""The receiver's conformance scenarios, by their number: ``test_scenario_07_...`` is of scenario 7. All clocks are set by hand.

1 margin and its rules · 2 when windows are safe · 3 files and rows of a window · 4 overlap · 5 times from names · 6 late rows ·
7 ids and partitions · 8 default query · 9 filters · 10 failures, restarts, determinism · 11 more rows than ids · 12 missing and
damaged files · 13 logs without a time · 14 spans · 15 metrics
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.unit.otap.files import at, attribute, log, write
from tests.unit.otap.rig import LOGS, WANTED, C, Rig, answer, ask, batches, found, minute, names, read
from windrow.jobs.window_queries import DONE, FAILED, Views, default_query
from windrow.otap.discovery import TimeRule, covering
from windrow.otap.timing import MINUTE, SECOND, Timing, Window
from windrow.otap.windows import Reading


def test_scenario_01_the_margin_is_the_sum() -> None:
    assert C.safety_margin == 720 * SECOND


@pytest.mark.parametrize(
    ("timing", "fault"),
    [
        (C, None),
        (Timing(10 * MINUTE, MINUTE, MINUTE, SECOND), None),
        (Timing(10 * MINUTE, MINUTE, MINUTE, SECOND - 1), "Window granularity must be at least 1 second"),
        (Timing(119 * SECOND, MINUTE, MINUTE, MINUTE), "Processing delay must be at least max clock drift plus max file duration"),
        (Timing(2 * MINUTE, MINUTE, MINUTE, MINUTE), None),
        (Timing(0, 0, 0, 86_400 * SECOND), None),
        (Timing(0, -1, 0, MINUTE), "A length of time cannot be less than 0"),
    ],
)
def test_scenario_01_lengths_are_validated(timing: Timing, fault: str | None) -> None:
    assert timing.fault() == fault


def test_scenario_02_a_window_is_safe_at_its_end_and_the_margin_inclusive() -> None:
    assert C.safe_at(Window(at("13:47"), at("13:48"))) == at("14:00")
    assert C.safe_until(at("14:00")) == at("13:48")
    assert C.safe_until(at("14:00") - 1) == at("13:47")
    assert C.safe_until(at("14:01") - 1) == at("13:48")
    assert C.safe_until(at("14:01")) == at("13:49")
    assert C.safe_until(at("14:02")) == at("13:50")


def test_scenario_02_a_window_is_handed_over_when_it_is_safe_and_not_before(rig: Rig) -> None:
    write(rig.data, "logs", [log(at("13:47:10")), log(at("13:48:10")), log(at("13:49:10"))])
    assert rig.run(at("14:00") - 1) == []
    assert rig.run(at("14:00")) == [(at("13:48"), [at("13:47:10")])]
    assert rig.run(at("14:01") - 1) == []
    assert rig.run(at("14:01")) == [(at("13:49"), [at("13:48:10")])]
    assert rig.run(at("14:02")) == [(at("13:50"), [at("13:49:10")])]


def test_scenario_03_files_that_cover_a_window_are_found_however_young_they_are(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:46:30")), log(at("13:47:45"))], "A", "a.parquet")
    write(tmp_path, "logs", [log(at("13:48:20")), log(at("13:47:15"))], "B", "b.parquet")
    write(tmp_path, "logs", [log(at("13:48:00"))], "B", "c.parquet")
    files = found(tmp_path)
    assert names(covering(files, minute("13:47"))) == ["a.parquet", "b.parquet"]
    assert names(covering(files, minute("13:48"))) == ["b.parquet", "c.parquet"]


def test_scenario_03_rows_of_the_next_window_come_out_there_once(rig: Rig) -> None:
    write(rig.data, "logs", [log(at("13:46:30")), log(at("13:47:45"))], "A")
    write(rig.data, "logs", [log(at("13:47:15")), log(at("13:48:20"))], "B")
    assert rig.run(at("14:01")) == [
        (at("13:47"), [at("13:46:30")]),
        (at("13:48"), [at("13:47:15"), at("13:47:45")]),
        (at("13:49"), [at("13:48:20")]),
    ]


def test_scenario_03_rows_come_out_in_their_own_window_only(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:46:30")), log(at("13:47:00")), log(at("13:47:45"))], "A")
    write(tmp_path, "logs", [log(at("13:48:20")), log(at("13:47:15")), log(at("13:48:00") - 1), log(at("13:48:00"))], "B")
    assert [row["_event_time_ns"] for row in read(tmp_path, minute("13:47"))[0]] == [
        at("13:47:00"),
        at("13:47:45"),
        at("13:47:15"),
        at("13:48:00") - 1,
    ]
    assert [row["_event_time_ns"] for row in read(tmp_path, minute("13:48"))[0]] == [at("13:48:20"), at("13:48:00")]


def test_scenario_03_one_batch_a_partition_with_ids_of_its_own(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("least", "greatest", "is_in"),
    [(0, 100, True), (0, 99, False), (199, 500, True), (200, 500, False), (120, 130, True), (0, 500, True)],
)
def test_scenario_04_a_file_overlaps_half_open_windows(least: int, greatest: int, is_in: bool) -> None:
    assert Window(100, 200).overlaps(least, greatest) is is_in


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("part-20250918T140000Z-a1b2c3d4.parquet", "13:59", "14:00"),
        ("part-1758204000000-6f1c2a52-7d53-4a41-9be4-0d1a52b6a1f7.parquet", "13:49", "14:02"),
    ],
)
def test_scenario_05_the_name_is_asked_where_the_footer_says_nothing(tmp_path: Path, name: str, first: str, last: str) -> None:
    write(tmp_path, "logs", [log(at("14:00"))], name=name, write_statistics=False)
    files = found(tmp_path)
    assert covering(files, minute(first)) == covering(files, minute(last)) == files
    assert not covering(files, Window(at(first) - MINUTE, at(first)))
    assert not covering(files, Window(at(last) + MINUTE, at(last) + 2 * MINUTE))


def test_scenario_05_the_footer_wins_over_the_name(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("10:00"))], name="part-20250918T140000Z-a1b2c3d4.parquet")
    assert found(tmp_path)[0].times == (at("10:00"), at("10:00"))


def test_scenario_05_neither_footer_nor_name_is_a_fault_of_that_file_only(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("14:00"))], name="data.parquet", write_statistics=False)
    write(tmp_path, "logs", [log(at("14:00"))], name="good.parquet")
    bad, good = found(tmp_path)
    assert bad.times is None
    assert "NoTimestampMetadata" in (bad.fault or "")
    assert good.fault is None


def test_scenario_06_the_formula_wins_over_the_designs_example() -> None:
    assert C.safe_at(Window(at("14:15"), at("14:16"))) == at("14:28")


def test_scenario_06_late_rows_are_rejected_and_listed_and_the_rest_of_the_file_is_taken(rig: Rig) -> None:
    write(rig.data, "logs", [log(at("14:15:30"))], name="in-time.parquet")
    assert rig.run(at("14:28") - 1) == []
    write(rig.data, "logs", [log(at("14:15:40"))], name="also.parquet")
    assert rig.run(at("14:28")) == [(at("14:16"), [at("14:15:30"), at("14:15:40")])]
    write(rig.data, "logs", [log(at("14:15:50")), log(at("14:15:51")), log(at("14:16:10"))], name="late.parquet")
    assert rig.run(at("14:28") + 1_000_000) == []
    assert rig.late() == [("late.parquet", at("14:15"), 2)]
    assert rig.notes.late()[0].noticed_at == at("14:28") + 1_000_000
    assert rig.run(at("14:29")) == [(at("14:17"), [at("14:16:10")])]
    rig.start()
    assert rig.run(at("14:29") + 1) == []
    assert len(rig.late()) == 1


def test_scenario_07_attributes_stay_in_their_partition(tmp_path: Path) -> None:
    for part in ("A", "B"):
        write(tmp_path, "logs", [log(at("14:00"), 7), log(at("14:00"), 8), log(at("14:00"))], part)
        write(tmp_path, "log_attrs", [attribute(7, "where", part), attribute(8, "k", "v"), attribute(9, "other", "x")], part)
        write(tmp_path, "resource_attrs", [attribute(0, "host", f"host of {part}")], part)
    rows, seen = read(tmp_path, minute("14:00"))
    assert [row["attributes"] for row in rows] == [{"where": "A"}, {"k": "v"}, {}, {"where": "B"}, {"k": "v"}, {}]
    assert {(row["part"], row["resource_attributes"]["host"]) for row in rows} == {("A", "host of A"), ("B", "host of B")}
    assert seen.faults == {}


def test_scenario_07_a_result_must_say_which_partition_its_rows_are_of(tmp_path: Path) -> None:
    for part in ("A", "B"):
        write(tmp_path, "logs", [log(at("13:47:10"), 7)], part)
    for sql in ("SELECT id FROM logs", "SELECT severity_number FROM logs", "SELECT COUNT(*) AS n FROM logs"):
        (result,) = ask(tmp_path, sql, minute("13:47"))
        assert (result.state, result.rows) == (FAILED, None)
        assert (result.reason or "").startswith("Query results must include _part_id column")
    (whole,) = ask(tmp_path, "SELECT _part_id, id FROM logs ORDER BY _part_id", minute("13:47"))
    assert whole.rows is not None
    assert whole.rows.to_pylist() == [{"_part_id": "A", "id": 7}, {"_part_id": "B", "id": 7}]
    # Whoever asks for one number over all partitions says so.
    (total,) = ask(tmp_path, "SELECT COUNT(*) AS n FROM logs", minute("13:47"), across_partitions=True)
    assert total.rows is not None
    assert total.rows.to_pylist() == [{"n": 2}]
    (merged,) = ask(tmp_path, "SELECT id FROM logs", minute("13:47"), across_partitions=True)
    assert merged.state == FAILED


def test_scenario_08_the_default_query_gives_the_rows_of_the_window_by_partition_and_time(tmp_path: Path) -> None:
    texts = [{"type": 1, "str": "an error"}, {"type": 1, "str": "fine"}]
    for part in ("B", "A"):
        late, early = log(at("13:47:50"), 1, body=texts[0], trace_id=b"t" * 16), log(at("13:47:00"), 2, body=texts[1])
        write(tmp_path, "logs", [late, early, log(at("13:48:00"), 3), log(at("13:47:00") - 1, 4)], part)
    (result,) = ask(tmp_path, default_query("logs", ()), minute("13:47"))
    assert result.rows is not None
    assert result.rows.select(["_part_id", "id"]).to_pylist() == [{"_part_id": p, "id": n} for p in ("A", "B") for n in (2, 1)]
    filters = ("trace_id IS NOT NULL", "body.str LIKE '%error%'")
    (chosen,) = ask(tmp_path, default_query("logs", filters), minute("13:47"))
    assert chosen.rows is not None
    assert chosen.rows["id"].to_pylist() == [1, 1]
    assert ask(tmp_path, default_query("spans", ()), minute("13:47")) == [], "no table in any partition is no failure"


def test_scenario_08_a_window_without_data_is_empty_and_the_next_is_one_granularity_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, replace(WANTED, start=at("13:47")))
    for step in range(3):
        assert rig.run(at("14:00") + step * MINUTE) == [(at("13:48") + step * MINUTE, [])]
    write(rig.data, "logs", [log(at("13:50:30"))])
    assert rig.run(at("14:03")) == [(at("13:51"), [at("13:50:30")])]


def test_scenario_09_what_belongs_to_rows_left_out_is_left_out(tmp_path: Path) -> None:
    rows = [log(at("13:47:10"), n, severity_number=n) for n in (9, 17, 9, 21)]
    rows = [{**row, "id": n} for n, row in enumerate(rows)]
    write(tmp_path, "logs", [*rows, log(at("13:47:30"), None, severity_number=17)])
    write(tmp_path, "log_attrs", [attribute(n, "n", str(n)) for n in range(4)])
    (only,) = batches(tmp_path, choose=lambda rows: rows.filter(pc.greater_equal(rows["severity_number"], 17)))
    assert only[1]["logs"]["id"].to_pylist() == [0, 1, None]
    assert only[1]["log_attrs"].select(["parent_id", "str"]).to_pylist() == [{"parent_id": 0, "str": "1"}, {"parent_id": 1, "str": "3"}]


def test_scenario_10_a_window_that_fails_does_not_stop_the_next(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:46:30") + n * MINUTE, n) for n in range(3)])

    def fail_once(sql: str, views: Views, parameters: Mapping[str, Any]) -> pa.Table:
        if f">= {at('13:47')}" in sql:
            raise TimeoutError("the query took longer than 300 s")
        return answer(sql, views, parameters)

    bounds = Window(at("13:46"), at("13:50"))
    sql = "SELECT _part_id, id FROM logs WHERE time_unix_nano >= {window_start_ns} AND time_unix_nano < {window_end_ns}"
    results = ask(tmp_path, sql, bounds, fail_once)
    assert [(one.window.start, one.state) for one in results] == [(at("13:46"), DONE), (at("13:47"), FAILED), (at("13:48"), DONE)]
    assert results[1].reason == "the query took longer than 300 s"
    again = ask(tmp_path, sql, bounds)
    assert [one.rows["id"].to_pylist() for one in again if one.rows is not None] == [[0], [1], [2]]


def test_scenario_10_a_restart_goes_on_with_the_right_window_and_the_same_clock_gives_the_same(tmp_path: Path) -> None:
    def run(folder: str, crash: str | None) -> list[tuple[int, list[int]]]:
        own = tmp_path / folder
        own.mkdir()
        rig = Rig(own)
        for part in ("A", "B"):
            write(rig.data, "logs", [log(at("13:40:30") + n * MINUTE) for n in range(6)], part)
        rig.now = at("14:00")
        while rig.step(crash):
            if crash is not None:
                rig.start()
        return rig.windows

    straight = run("straight", None)
    assert straight == run("again", None) == run("cut off", "offset") == run("cut off later", "planned")
    ends = [end for end, _ in straight]
    assert ends == sorted(set(ends))


def test_scenario_11_more_rows_than_ids_fit_are_cut_and_none_is_lost(tmp_path: Path) -> None:
    count = 70_000
    write(tmp_path, "logs", [log(at("13:47:10"), n * 3) for n in range(count)])
    write(tmp_path, "log_attrs", [attribute(n * 3, "n", str(n)) for n in range(count)])
    made = [tables for _, tables in batches(tmp_path)]
    assert [tables["logs"].num_rows for tables in made] == [65_536, count - 65_536]
    for tables in made:
        assert tables["logs"]["id"].type == tables["log_attrs"]["parent_id"].type == pa.uint16()
        assert tables["logs"]["id"].to_pylist() == list(range(tables["logs"].num_rows))
    assert sum(tables["log_attrs"].num_rows for tables in made) == count


def test_scenario_12_missing_and_torn_attribute_files_cost_the_attributes_only(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("14:00"), 0)], "A")
    rows, seen = read(tmp_path, minute("14:00"))
    assert rows[0]["attributes"] == {}
    assert seen.missing == {"log_attrs", "resource_attrs", "scope_attrs"}
    path = write(tmp_path, "log_attrs", [attribute(0, "k", "v")])
    path.write_bytes(path.read_bytes()[:-9])
    assert len(read(tmp_path, minute("14:00"))[0]) == 1


def test_scenario_12_missing_attributes_still_give_records(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:47:10"), 0)])
    (only,) = batches(tmp_path)
    assert list(only[1]) == ["logs"]


def test_scenario_12_torn_and_half_written_files_are_passed_over(tmp_path: Path) -> None:
    whole = write(tmp_path, "logs", [log(at("14:00"))], name="good.parquet")
    (whole.parent / "torn.parquet").write_bytes(whole.read_bytes()[:-10])
    (whole.parent / "empty.parquet").write_bytes(b"")
    (whole.parent / "upload.parquet#1").write_bytes(whole.read_bytes())
    files = found(tmp_path)
    assert [(name, file.fault is None) for name, file in zip(names(files), files, strict=True)] == [
        ("empty.parquet", False),
        ("good.parquet", True),
        ("torn.parquet", False),
    ]


def test_scenario_13_a_log_without_a_time_is_placed_by_when_it_was_observed(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(0, observed_time_unix_nano=at("13:40:10")), log(at("14:00")), log(0)])
    assert [row["_event_time_ns"] for row in read(tmp_path, minute("13:40"))[0]] == [at("13:40:10"), None]
    unwilling = replace(LOGS, rule=TimeRule(falls_back=False))
    assert [row["_event_time_ns"] for row in read(tmp_path, minute("14:00"), unwilling)[0]] == [None, at("14:00"), None]


def test_scenario_13_a_log_without_a_time_does_not_move_the_start_to_1970(rig: Rig) -> None:
    write(rig.data, "logs", [log(0, observed_time_unix_nano=at("13:46:30")), log(at("13:47:30"))])
    assert rig.run(at("14:00"))[0] == (at("13:47"), [at("13:46:30")])
    assert rig.run(at("14:00")) == []


def test_scenario_14_spans_are_found_by_their_end_or_their_start(tmp_path: Path) -> None:
    span = {"start_time_unix_nano": at("13:00"), "duration_time_unix_nano": 30 * MINUTE, "name": "x"}
    write(tmp_path, "spans", [{**span, "trace_id": b"t" * 16, "span_id": b"s" * 8}])
    assert found(tmp_path, "spans")[0].times == (at("13:30"), at("13:30"))
    assert found(tmp_path, "spans", rule=TimeRule(span_time="start"))[0].times == (at("13:00"), at("13:00"))


def test_scenario_14_short_spans_are_found_by_statistics_alone(tmp_path: Path) -> None:
    spans = [{"start_time_unix_nano": at("13:00") + n, "duration_time_unix_nano": 10 - n, "name": "x"} for n in (0, 5)]
    write(tmp_path, "spans", [{**span, "trace_id": b"t" * 16, "span_id": b"s" * 8} for span in spans])
    assert found(tmp_path, "spans")[0].times == (at("13:00"), at("13:00") + 15)


def test_scenario_14_spans_are_placed_by_their_end_unless_asked_otherwise(tmp_path: Path) -> None:
    span = {"name": "x", "trace_id": b"t" * 16, "span_id": b"s" * 8, "resource": {"id": 0}, "scope": {"id": 0}}
    write(tmp_path, "spans", [{**span, "start_time_unix_nano": at("13:00"), "duration_time_unix_nano": 30 * MINUTE}])
    assert len(read(tmp_path, minute("13:30"), Reading("spans"))[0]) == 1
    assert read(tmp_path, minute("13:00"), Reading("spans"))[0] == []
    assert len(read(tmp_path, minute("13:00"), Reading("spans", TimeRule(span_time="start")))[0]) == 1


def test_scenario_15_metrics_are_fetched_from_older_files_by_id(tmp_path: Path) -> None:
    metric = {"metric_type": 1, "name": "cpu", "unit": "1", "resource": {"id": 4}, "scope": {"id": 0}}
    write(tmp_path, "univariate_metrics", [{**metric, "id": 4}, {**metric, "id": 5, "name": "other"}], name="old.parquet")
    write(tmp_path, "number_data_points", [{"id": 9, "parent_id": 4, "time_unix_nano": at("14:00"), "int_value": 1}])
    write(tmp_path, "number_dp_attrs", [attribute(9, "core", "0")])
    write(tmp_path, "resource_attrs", [attribute(4, "host", "h"), attribute(5, "host", "no")])
    rows, _ = read(tmp_path, minute("14:00"), Reading("number_data_points", ids="partition_unique"))
    assert [(row["metric_name"], row["attributes"], row["resource_attributes"]) for row in rows] == [("cpu", {"core": "0"}, {"host": "h"})]
