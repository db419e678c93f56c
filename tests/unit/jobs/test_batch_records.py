"""Records of batches in a folder: bounded, readable after a crash, and never in the way of a job."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from windrow.jobs import line_log
from windrow.jobs.batch_records import BatchRecordLog, read_records
from windrow.observe.batch_record import (
    BatchRecord,
    HolderRecord,
    OperatorRecord,
    PartitionRecord,
    SourceRecord,
    StatementRecord,
    TableRecord,
    imbalances,
)
from windrow.storage import Folder, LocalFolder
from windrow.storage.errors import write_error

RECORD = BatchRecord(
    batch_id=7,
    run="r1",
    attempt=2,
    arrival=5_000_000,
    seconds=0.5,
    phases={"plan": 0.1, "read": 0.4},
    watermark=3_000_000,
    held_by=HolderRecord("t", 1, 4_000_000, 2.5),
    operators=(
        OperatorRecord("t", "Read", rows_in=10, rows_out=9, passed=9, dead={"WR701": 1}, strategies=("scan: columns",)),
        OperatorRecord("sums", "Aggregate", rows_in=9, rows_out=2, passed=6, filtered=1, dropped={"WR705": 2}, bytes_held=64),
    ),
    sources={"t": SourceRecord({0: PartitionRecord(8, 1, 4), 1: PartitionRecord(None, 2)}, before=1, after=3, idle=(1,))},
    statements={"sums": StatementRecord(1, 3, closed=2, emissions={"final": 2}, late_by={1_100_000: 2})},
    sinks={"sums": 0.2},
    tables={"rates": TableRecord(5, "away")},
)


class Remote(LocalFolder):
    """A folder whose files cannot grow."""

    is_local = False
    append = Folder.append


class Full(LocalFolder):
    def append(self, name: str, _data: bytes) -> None:
        raise write_error(name, "no space left on device")


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    BatchRecordLog(LocalFolder(tmp_path)).write(RECORD)
    assert read_records(LocalFolder(tmp_path)) == [RECORD]


def test_a_reader_ignores_what_a_later_version_adds() -> None:
    told = RECORD.to_json()
    assert BatchRecord.from_json({**told, "new": 1, "operators": [{**told["operators"][0], "new": 1}]}).operators == RECORD.operators[:1]


def test_a_batch_that_runs_again_counts_once_and_undoes_what_came_after(tmp_path: Path) -> None:
    log = BatchRecordLog(LocalFolder(tmp_path))
    for batch in (0, 1, 2, 3):
        log.write(BatchRecord(batch))
    again = BatchRecordLog(LocalFolder(tmp_path))
    again._began += 1
    again.write(BatchRecord(2, attempt=2))
    assert [(one.batch_id, one.attempt) for one in read_records(LocalFolder(tmp_path))] == [(0, 1), (1, 1), (2, 2)]


def test_batches_after_a_restore_are_gone_before_the_job_runs_again(tmp_path: Path) -> None:
    log = BatchRecordLog(LocalFolder(tmp_path))
    for batch in range(5):
        log.write(BatchRecord(batch))
    log.go_back_to(1)
    assert [one.batch_id for one in read_records(LocalFolder(tmp_path))] == [0, 1]


def test_a_line_that_a_crash_has_cut_is_left_out(tmp_path: Path) -> None:
    log = BatchRecordLog(LocalFolder(tmp_path))
    log.write(BatchRecord(0))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes() + b'{"batch_id":1,"ru')
    assert [one.batch_id for one in read_records(LocalFolder(tmp_path))] == [0]


@pytest.mark.parametrize("kind", [LocalFolder, Remote])
def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[LocalFolder]) -> None:
    for name in ("FILE_BYTES", "REMOTE_FILE_BYTES"):
        monkeypatch.setattr(line_log, name, 2_000)
    monkeypatch.setattr(line_log, "MOST_BYTES", 10_000)
    log = BatchRecordLog(kind(tmp_path))
    for batch in range(200):
        log.write(replace(RECORD, batch_id=batch))
    log.flush()
    found = [one.batch_id for one in read_records(kind(tmp_path))]
    assert found == list(range(found[0], 200))
    assert found[0] > 0
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 12_000
    assert [one.batch_id for one in read_records(kind(tmp_path), 3)] == [197, 198, 199]


def test_where_files_cannot_grow_lines_wait_for_each_other(tmp_path: Path) -> None:
    now = [0.0]
    log = BatchRecordLog(Remote(tmp_path), clock=lambda: now[0])
    for batch in range(3):
        log.write(BatchRecord(batch))
    assert [one.batch_id for one in read_records(Remote(tmp_path))] == [0]
    now[0] += line_log.REMOTE_SECONDS
    log.write(BatchRecord(3))
    assert [one.batch_id for one in read_records(Remote(tmp_path))] == [0, 1, 2, 3]


def test_a_failure_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = BatchRecordLog(Full(tmp_path))
    with caplog.at_level(logging.WARNING):
        for batch in range(3):
            log.write(BatchRecord(batch))
    assert [record.message for record in caplog.records] == [
        f"batches cannot be recorded in {tmp_path}: no space left on device; the job goes on without that"
    ]


def test_rows_that_do_not_add_up_are_named() -> None:
    inputs = {"sums": ("t",)}
    assert imbalances(RECORD, inputs) == []
    lost = replace(RECORD, operators=(RECORD.operators[0], replace(RECORD.operators[1], rows_in=8)))
    assert imbalances(lost, inputs) == ["batch 7: sums took 8 rows and accounts for 9", "batch 7: sums took 8 rows and was given 9"]
