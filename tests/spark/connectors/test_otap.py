"""The OTAP receiver as a source of a job: windows whole and once, over restarts, with a clock that is set by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from tests.unit.otap.files import at, attribute, log, write
from windrow.errors import UsageError
from windrow.jobs.event_watch import EventReader
from windrow.jobs.receivers import JobReceivers
from windrow.observe.instruments import UNREAD
from windrow.observe.samples import samples_of
from windrow.observe.status import JobStatus, WindowCounts
from windrow.otap.notes import Notes
from windrow.storage import LocalFolder

SQL = """
CREATE STREAM logs WITH ('connector' = 'otap', 'path' = '{folder}/data', 'table' = 'logs', 'resource.ids' = 'partition_unique'{extra});
CREATE STREAM errors AS
  SELECT _window_start AS minute, resource_attributes['host'] AS host, COUNT(*) AS n, MAX(severity_number) AS worst
  FROM logs WHERE attributes['http.status_code'] >= '500' AND body.str LIKE '%!'
  GROUP BY resource_attributes['host'] WINDOW TUMBLING(1m)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


def _fill(data: Path) -> None:
    """Two partitions that use the same ids for different things; rows of three minutes."""
    for part in ("A", "B"):
        rows = [log(at("13:46:30") + n * 30 * 10**9, n, severity_number=n, body={"type": 1, "str": "no!"}) for n in range(5)]
        write(data, "logs", [*rows, log(at("13:46:40"), None, body={"type": 1, "str": "no!"})], part)
        write(data, "log_attrs", [attribute(n, "http.status_code", "500" if n % 2 == 0 else "200") for n in range(5)], part)
        write(data, "resource_attrs", [attribute(0, "host", f"host {part}")], part)


def _run(spark: SparkSession, folder: Path, mode: Any, now: str | None, sql: str = SQL) -> JobStatus:
    # The clock is an option, and options are part of what a state belongs to: tests that go on replace it in place.
    extra = "" if now is None else f", 'now' = '2025-09-18T{now}Z'"
    jobs = windrow.run(sql.format(folder=folder, extra=extra), spark=spark, mode=mode, state=folder / "state")
    assert jobs.await_end(240)
    return jobs.status()[0]


def _rows(folder: Path) -> list[tuple[str, str, int, int]]:
    lines = [line for path in sorted((folder / "out").glob("batch-*.json")) for line in path.read_text().splitlines()]
    return sorted((row["minute"][11:16], row["host"], row["n"], row["worst"]) for row in map(json.loads, lines))


def test_windows_are_whole_once_and_closed_by_their_own_end(spark: SparkSession, tmp_path: Path) -> None:
    _fill(tmp_path / "data")
    # At 14:00 exactly, 13:47 is the last safe window.
    status = _run(spark, tmp_path, "once", "14:00:00")
    assert _rows(tmp_path) == [("13:46", "host A", 1, 0), ("13:46", "host B", 1, 0), ("13:47", "host A", 1, 2), ("13:47", "host B", 1, 2)]
    assert status.watermark == at("13:48") // 1000
    assert status.rows_in == 8
    assert status.ledger.is_balanced
    assert status.windows == (WindowCounts("logs", 0, 1, 0),)
    notes = Notes(tmp_path / "state" / "errors" / "notes" / "logs")
    assert [plan.end for plan in notes.plans()] == [at("13:47"), at("13:48")]


def test_files_that_cannot_be_read_are_told_with_the_ledger(spark: SparkSession, tmp_path: Path) -> None:
    _fill(tmp_path / "data")
    torn = next((tmp_path / "data" / "logs").rglob("*.parquet"))
    torn.write_bytes(torn.read_bytes()[:-100])
    status = _run(spark, tmp_path, "once", "14:00:00")
    ((source, path),) = [(one.source, one.path) for one in status.unread_files]
    assert (source, path) == ("logs", str(torn.relative_to(tmp_path / "data")))
    assert (status.ledger.sources["logs"].unread_files, status.ledger.sources["logs"].rows_in, status.ledger.is_balanced) == (1, 4, True)
    events = [told for told in EventReader(LocalFolder(tmp_path / "state" / "errors")).more() if told["type"] == "files.unread"]
    assert [list(told["details"]["files"]) for told in events] == [[path]]
    told = {one.labels: one.value for one in samples_of(status) if one.instrument is UNREAD}
    assert told == {("errors", "logs"): 1}


def test_a_job_goes_on_and_late_rows_are_listed(spark: SparkSession, tmp_path: Path) -> None:
    _fill(tmp_path / "data")
    # All is long safe by the machine's clock.
    first = _run(spark, tmp_path, "once", None)
    before = _rows(tmp_path)
    assert [row[0] for row in before] == ["13:46", "13:46", "13:47", "13:47", "13:48", "13:48"]
    write(tmp_path / "data", "logs", [log(at("13:47:15"), 4, body={"type": 1, "str": "no!"})], "A", "late.parquet")
    again = _run(spark, tmp_path, "once", None)
    assert _rows(tmp_path) == before
    assert again.rows_in == first.rows_in == 12
    notes = Notes(tmp_path / "state" / "errors" / "notes" / "logs")
    assert [(Path(one.file).name, one.window.start, one.rows) for one in notes.late()] == [("late.parquet", at("13:47"), 1)]
    receivers = JobReceivers(windrow.compile(SQL.format(folder=tmp_path, extra="")).plan.jobs[0], tmp_path / "state")
    planned = receivers.plan_reprocessing(at("13:47:20"), None)
    assert (planned.start, [one.rows for one in planned.late]) == (at("13:47"), [1])
    receivers.reprocess(planned)
    assert [row[0] for row in _rows(tmp_path)] == ["13:46", "13:46"]
    _run(spark, tmp_path, "once", None)
    assert _rows(tmp_path) == [*before[:2], ("13:47", "host A", 2, 2), *before[3:]]
    status = receivers.status(receivers.reads[0])
    assert (status.rows, status.late_rows, status.safe, status.waiting) == (13, 0, 0, 0)
    assert (status.windows_done, status.in_work) == (3, 0)
    with pytest.raises(UsageError, match="WR884"):
        receivers.plan_reprocessing(at("13:00"), None)


def test_the_input_can_be_declared_ended(spark: SparkSession, tmp_path: Path) -> None:
    _fill(tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "logs" / "_part_id=B")
    _run(spark, tmp_path, "until_end", "13:47:00")
    assert _rows(tmp_path) == [("13:46", "host A", 1, 0), ("13:47", "host A", 1, 2), ("13:48", "host A", 1, 4)]


def test_a_folder_that_is_not_there_is_a_plain_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="WR882"):
        _run(spark, tmp_path, "once", None)


TRACES = """
CREATE STREAM spans WITH ('connector' = 'otap', 'path' = '{folder}/data', 'table' = 'spans', 'resource.ids' = 'partition_unique');
CREATE STREAM links WITH ('connector' = 'otap', 'path' = '{folder}/data', 'table' = 'span_links', 'resource.ids' = 'partition_unique');
CREATE STREAM retried AS
  SELECT name, events[0].name AS event, events[0].attributes['why'] AS why, SIZE(links) AS links FROM spans WHERE SIZE(events) > 0
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
CREATE STREAM counted AS
  SELECT attributes['kind'] AS kind, from_span_id, COUNT(*) AS n FROM links GROUP BY attributes['kind'], from_span_id WINDOW TUMBLING(1m)
  WITH ('connector' = 'files', 'path' = '{folder}/counted', 'format' = 'json');
"""


def test_spans_have_events_and_links_and_links_are_rows_too(spark: SparkSession, tmp_path: Path) -> None:
    span = {"name": "x", "trace_id": b"t" * 16, "span_id": b"s" * 8, "resource": {"id": 0}, "scope": {"id": 0}}
    times = {"start_time_unix_nano": at("13:00"), "duration_time_unix_nano": 10**9}
    write(tmp_path / "data", "spans", [{**span, **times, "id": n} for n in range(2)])
    write(tmp_path / "data", "span_events", [{"id": 5, "parent_id": 0, "time_unix_nano": at("13:00"), "name": "retry"}])
    write(tmp_path / "data", "span_event_attrs", [attribute(5, "why", "timeout")])
    write(tmp_path / "data", "span_links", [{"id": 3, "parent_id": 0, "trace_id": b"l" * 16, "span_id": b"m" * 8}] * 2)
    write(tmp_path / "data", "span_link_attrs", [attribute(3, "kind", "follows")])
    jobs = windrow.run(TRACES.format(folder=tmp_path), spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(400)

    def rows(folder: str) -> list[dict[str, Any]]:
        return [json.loads(line) for path in (tmp_path / folder).glob("batch-*.json") for line in path.read_text().splitlines()]

    assert rows("out") == [{"name": "x", "event": "retry", "why": "timeout", "links": 2}]
    assert rows("counted") == [{"kind": "follows", "from_span_id": "73" * 8, "n": 2}]
