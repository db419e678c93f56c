"""EXPLAIN ANALYZE and the topology, from the folder of a job."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Windrow
from tests.unit.cli.recorded import SECOND, SQL, START, batch, job_of, record_job
from windrow.errors import UsageError
from windrow.jobs.batch_records import BatchRecordLog
from windrow.jobs.identity import RECORDS
from windrow.jobs.observed import ObservedJob
from windrow.observe.batch_record import JobNote, PartitionRecord, SourceRecord, TableRecord
from windrow.storage import LocalFolder
from windrow.storage.lease import Lease

EXPLAINED = """\
stopped; batches 0 to 3, the last committed at 2026-01-05 09:30:03.500
job q · 4 batches in 3.5 s · 40 rows · batch p50 0.40 s, p95 0.40 s · bottleneck: candles (50% of the time)
└─ read trades
   │  rows        40 in = 36 passed + 4 dead (WR701 4) -> 36 out (90 %)
   │  time        25% of the time, 0.100 s a batch, p95 0.100 s
   │  partitions  2, skew 1.2 (partition 0: 60% of the rows)
   │  watermark   2026-01-05 09:29:56, 7.0 s behind the arrival of the last batch, delay 5s; \
held back by partition 1 (at 2026-01-05 09:30:01, 2.0 s behind the furthest, last row 0.0 s ago)
   └─ aggregate candles
      │  rows      36 in = 24 passed + 8 filtered + 4 dead (WR705 4) -> 8 out (22 %)
      │  time      50% of the time, 0.200 s a batch, p95 0.200 s
      │  windows   20 open, 8 opened, 4 closed
      │  emitted   8 final
      │  too late  4 rows, by 7.0 s at most
      │  state     40 rows, 4.0 KiB in the driver
      └─ write candles to console
            rows  8 written
            time  25% of the time, 0.100 s a batch, p95 0.100 s
hint: 4 rows came too late for candles; a delay of 13s instead of 5s would have taken 4 of them, and every result would come 8s later; \
ALLOWED_LATENESS 8s takes them as corrections instead, without delay
      'watermark.delay' = '13s'
"""


def test_a_stopped_job_is_analyzed_from_its_folder(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(n) for n in range(4)], notes=[JobNote(START, "stopped")])
    done = windrow("explain", "q.sql", "--analyze")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == EXPLAINED


def test_verbose_has_the_facts_of_explain_below_the_figures(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0)])
    told = windrow("explain", "q.sql", "--analyze", "--verbose").stdout
    assert any(line.split()[1:4] == ["rows", "10", "in"] for line in told.splitlines())
    assert "│  group by    symbol" in told


def test_json_has_the_same_figures(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(n) for n in range(4)])
    (told,) = json.loads(windrow("explain", "q.sql", "--analyze", "--format", "json").stdout)
    operators = {one["name"]: one for one in told["operators"]}
    assert (told["rows_in"], told["bottleneck"], operators["candles"]["filtered"]) == (40, "candles", 8)
    assert [one["kind"] for one in told["hints"]] == ["late_rows"]
    assert told["hints"][0]["figures"]["curve"] == [{"extra_us": 7_000_001, "saved": 4, "of": 4, "in_time": 0}]


def test_only_batches_of_the_last_run_are_added_up(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0, run="r0"), batch(1), batch(2)])
    assert "job q · 2 batches" in windrow("explain", "q.sql", "--analyze").stdout
    assert "job q · 1 batch " in windrow("explain", "q.sql", "--analyze", "--batches", "1").stdout
    assert "job q · 2 batches" in windrow("explain", "q.sql", "--analyze", "--for", "1s").stdout


def test_a_job_without_a_batch(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [], notes=[JobNote(START, "waiting", "waits: nobody answers at db:5432")])
    done = windrow("explain", "q.sql", "--analyze")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[0] == (
        f"[WR651] job q has recorded no batch yet in {tmp_path}/.windrow/q/q (ended without a word while waiting: "
        "nobody answers at db:5432)"
    )


def test_what_belongs_to_analyze_is_refused_without_it(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0)])
    done = windrow("explain", "q.sql", "--for", "10s")
    assert done.exit_code == 2
    assert "[WR619] --for belongs to --analyze" in done.stderr


@contextmanager
def _run(folder: LocalFolder) -> Iterator[None]:
    """As if another process had the job."""
    lease = Lease(folder, "q")
    try:
        yield
    finally:
        lease.release()


def test_a_running_job_is_watched_for_a_time(tmp_path: Path) -> None:
    folder = record_job(tmp_path, [batch(0)])
    observed = ObservedJob(job_of(), folder, LocalFolder(tmp_path))
    log = BatchRecordLog(folder.child(RECORDS))
    log._began += 1

    def commit(_seconds: float) -> None:
        import time

        log.write(batch(1, at=time.time_ns() // 1000))

    with _run(folder):
        assert observed.runner is not None
        assert [record.batch_id for record in observed.observe(0.05, commit)] == [1]
    assert observed.runner is None


def test_a_job_that_commits_nothing_while_it_is_watched(tmp_path: Path) -> None:
    why = "waits: no broker answers at localhost:9092"
    folder = record_job(tmp_path, [batch(0)], notes=[JobNote(START, "waiting", why)])
    with _run(folder), pytest.raises(UsageError, match=rf"WR652\] .*committed no batch in these 0 s: it is waiting, {why}"):
        ObservedJob(job_of(), folder, LocalFolder(tmp_path)).observe(0.01, lambda _: None)


@pytest.mark.parametrize(
    ("form", "start"), [("text", "job q\n┌"), ("mermaid", 'flowchart TD\n  s0[("read trades'), ("dot", 'digraph "q" {')]
)
def test_the_topology_of_a_file_with_and_without_a_run(windrow: Windrow, tmp_path: Path, form: str, start: str) -> None:
    (tmp_path / "q.sql").write_text(SQL)
    plain = windrow("explain", "q.sql", "--topology", "--format", form)
    assert (plain.exit_code, "40" in plain.stdout) == (0, False)
    assert plain.stdout.startswith(start)
    record_job(tmp_path, [batch(n) for n in range(4)])
    assert "40 in, 36 out" in windrow("explain", "q.sql", "--topology", "--format", form).stdout


TOPOLOGY = """\
job q
┌───────────────────────────────┐
│ read trades                   │
│ 10 in, 9 out                  │
│ 1 set aside                   │
│ 25% of the time               │
│ watermark 2026-01-05 09:29:53 │
└───────────────────────────────┘
                │
                ▼ 9
    ╔═══════════════════════╗
    ║ aggregate candles     ║
    ║ 9 in, 2 out           ║
    ║ 2 filtered, 1 set aside ║
"""


def test_boxes_and_arrows(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0)])
    told = windrow("explain", "q.sql", "--topology").stdout
    lines = told.splitlines()
    assert lines[1:7] == TOPOLOGY.splitlines()[1:7]
    assert [line.strip() for line in lines if "▼" in line] == ["▼ 9", "▼ 2"]
    assert any(line.strip().startswith("╔") for line in lines), "the bottleneck has a frame of its own"


def test_an_svg_is_sound_xml_with_a_box_for_each_stage(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0)])
    svg = ElementTree.fromstring(windrow("explain", "q.sql", "--format", "svg").stdout)
    assert len(svg.findall("{http://www.w3.org/2000/svg}rect")) == 3


def _hints(windrow: Windrow) -> dict[str, str]:
    (told,) = json.loads(windrow("explain", "q.sql", "--analyze", "--format", "json").stdout)
    return {one["kind"]: one["text"] for one in told["hints"]}


def test_an_idle_partition_is_named(windrow: Windrow, tmp_path: Path) -> None:
    clock = SourceRecord(
        {0: PartitionRecord(START + 900 * SECOND, START + 900 * SECOND, 9), 3: PartitionRecord(START, START, 0)}, delay=5 * SECOND
    )
    record_job(tmp_path, [batch(900, sources={"trades": clock})])
    assert _hints(windrow)["idle_partition"] == (
        "partition 3 of trades holds the watermark back by 15m 0s: its last row came 15m 0s before the last batch; no idle timeout is set"
    )


def test_a_partition_that_never_sent_anything_is_named(windrow: Windrow, tmp_path: Path) -> None:
    record_job(
        tmp_path, [batch(1, sources={"trades": SourceRecord({0: PartitionRecord(START, START, 9), 3: PartitionRecord(None, START, 0)})})]
    )
    assert _hints(windrow)["silent_partition"].startswith("partition 3 of trades has sent nothing yet")


def test_rows_of_the_future_and_a_wrong_unit_are_told(windrow: Windrow, tmp_path: Path) -> None:
    one = batch(1)
    read = replace(one.operators[0], passed=1, dead={"WR704": 9})
    record_job(tmp_path, [replace(one, operators=(read, *one.operators[1:]))])
    assert "the unit of the event time is likely another one" in _hints(windrow)["future_rows"]


def test_event_times_near_1970_are_a_wrong_unit(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(1, sources={"trades": SourceRecord({0: PartitionRecord(1_767_605 * SECOND, START, 9)})})])
    assert _hints(windrow)["event_time_unit"].startswith("the greatest event time of trades is 1970-01-21")


def test_a_filter_that_lets_nothing_through_is_shown(windrow: Windrow, tmp_path: Path) -> None:
    one = batch(1)
    shut = replace(one.operators[1], rows_in=9, passed=0, filtered=9, dead={}, rows_out=0)
    record_job(tmp_path, [replace(one, operators=(one.operators[0], shut, one.operators[2]), statements={})])
    assert _hints(windrow) == {"filter_lets_nothing_through": "the filter of candles let none of 9 rows through: WHERE price > 1"}


def test_a_slow_sink_is_the_bottleneck(windrow: Windrow, tmp_path: Path) -> None:
    one = batch(1)
    slow = replace(one.operators[2], seconds=3.0)
    record_job(tmp_path, [replace(one, seconds=3.5, operators=(*one.operators[:2], slow), statements={})])
    assert (
        _hints(windrow)["slow_sink"]
        == "writing candles -> console takes 86% of the time of a batch (3.0 s of 3.5 s), and reading waits for it"
    )
    assert "bottleneck: candles -> console (86% of the time, reading waits for it)" in windrow("explain", "q.sql", "--analyze").stdout


def test_state_near_its_limit_and_a_stale_table(windrow: Windrow, tmp_path: Path) -> None:
    tables = {"rates": TableRecord(5, "no server answers at localhost:5432")}
    record_job(tmp_path, [batch(1, max_bytes=4500, tables=tables, statements={})])
    told = _hints(windrow)
    assert told["state_near_limit"] == ("the state holds 4,096 bytes, 91% of state.max_bytes = 4,500 (critical); most of it is of candles")
    assert (
        told["stale_table"]
        == "table rates was not refreshed, and the 5 rows of its last load stay in force: no server answers at localhost:5432"
    )


def test_a_skewed_partition(windrow: Windrow, tmp_path: Path) -> None:
    rows = {number: PartitionRecord(START, START, 91 if number == 2 else 3) for number in range(4)}
    record_job(tmp_path, [batch(1, sources={"trades": SourceRecord(rows)}, statements={})])
    assert _hints(windrow)["skewed_partition"].startswith(
        "partition 2 of trades brings 91% of its rows, 3.6 times the mean of 4 partitions"
    )


ASKED = SQL + "EXPLAIN (ANALYZE) CREATE STREAM candles AS SELECT symbol FROM trades;"


def test_a_file_asks_for_the_analysis_of_its_own_job(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(n) for n in range(4)])
    asked = windrow("sql", "q.sql", stdin=ASKED.removeprefix(SQL)).stdout.splitlines()
    assert asked[0].startswith("job q · 4 batches in 3.5 s · 40 rows")
    assert "   └─ aggregate candles" in asked


def test_what_no_job_of_the_file_runs_cannot_be_analyzed(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0)])
    done = windrow("sql", "q.sql", stdin="EXPLAIN ANALYZE CREATE STREAM other AS SELECT symbol FROM trades;")
    assert "[WR654] no job of the file runs other, so there is nothing to analyze" in done.stderr


def test_the_topology_and_other_formats_in_sql_need_no_run(windrow: Windrow) -> None:
    told = windrow("sql", stdin=f"{SQL.strip()} EXPLAIN (TOPOLOGY, FORMAT DOT) SELECT symbol FROM trades;").stdout
    assert 'digraph "out" {' in told
