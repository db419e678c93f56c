"""The folder of a job as a run leaves it, made by hand: its card, the records of its batches, and its changes where a test needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from windrow.compiler import compile_sql
from windrow.jobs.batch_records import BatchRecordLog
from windrow.jobs.identity import RECORDS, claim
from windrow.observe.batch_record import BatchRecord, JobNote, OperatorRecord, PartitionRecord, SourceRecord, StatementRecord
from windrow.plan.stages import Job
from windrow.storage import LocalFolder, folder_name

SECOND = 1_000_000
# 2026-01-05 09:30:00
START = 1_767_605_400 * SECOND
SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP)
WITH ('connector' = 'kafka', 'topic' = 'trades', 'bootstrap.servers' = 'localhost:9092', 'format' = 'json',
      'event.time.field' = 'ts', 'watermark.delay' = '5s');
CREATE STREAM candles AS SELECT symbol, MAX(price) AS high FROM trades WHERE price > 1 GROUP BY symbol WINDOW TUMBLING(1m)
WITH ('connector' = 'console');
"""


def job_of(sql: str = SQL) -> Job:
    (job,) = compile_sql(sql, "q.sql", env={}).plan.jobs
    return job


def record_job(folder: Path, records: Sequence[BatchRecord], sql: str = SQL, notes: Sequence[JobNote] = ()) -> LocalFolder:
    """Below ``folder``: q.sql, and its state where the commands look for it. Gives the folder of the job."""
    folder.mkdir(exist_ok=True)
    (folder / "q.sql").write_text(sql)
    job = job_of(sql)
    place = LocalFolder(folder / ".windrow" / "q" / folder_name(job.name))
    claim(place, job, has_begun=False)
    log = BatchRecordLog(place.child(RECORDS))
    for record in records:
        log.write(record)
    for note in notes:
        log.note(note)
    return place


def batch(number: int, **changes: object) -> BatchRecord:
    """Ten rows a batch and second: one that cannot be read, two filtered, one too late by 7 s; the window closes in every second batch."""
    at = START + number * SECOND
    read = OperatorRecord("trades", "Read", rows_in=10, rows_out=9, passed=9, dead={"WR701": 1}, seconds=0.1)
    grouped = OperatorRecord(
        "candles", "Aggregate", rows_in=9, rows_out=2, passed=6, filtered=2, dead={"WR705": 1}, seconds=0.2, rows_held=40, bytes_held=4096
    )
    write = OperatorRecord("candles -> console", "Write", rows_in=2, rows_out=2, passed=2, seconds=0.1)
    partitions = {0: PartitionRecord(at, at, 6), 1: PartitionRecord(at - 2 * SECOND, at, 4)}
    own = BatchRecord(
        batch_id=number,
        run="r1",
        arrival=at,
        at=at + SECOND // 2,
        seconds=0.4,
        phases={"read": 0.1, "aggregate": 0.2, "write": 0.1},
        watermark=at - 7 * SECOND,
        operators=(read, grouped, write),
        sources={"trades": SourceRecord(partitions, before=at - 8 * SECOND, after=at - 7 * SECOND, delay=5 * SECOND)},
        statements={
            "candles": StatementRecord(
                at - 8 * SECOND, at - 7 * SECOND, opened=2, closed=1, open=20, emissions={"final": 2}, late_by={7_000_000: 1}
            )
        },
    )
    return replace(own, **changes)  # type: ignore[arg-type]
