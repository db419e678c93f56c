"""``windrow why``: windows, rows and lag, from the folder of a job that has stopped."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.cli.conftest import Windrow
from tests.unit.cli.recorded import SECOND, SQL, START, batch, job_of, record_job
from windrow.jobs.alert_watch import ALERTS
from windrow.jobs.identity import LETTERS, STATE
from windrow.model.fate import Fate
from windrow.observe.alerts import FIRING, RuleState
from windrow.observe.batch_record import BatchRecord, JobNote, OperatorRecord, PartitionRecord, SourceRecord, StatementRecord
from windrow.observe.ledger import Account, Ledger
from windrow.spark.execution.dead_letters import SCHEMA
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import Change, StepInput
from windrow.spark.state.state_store import StateStore
from windrow.storage import Folder
from windrow.windowing.step import BatchTime

MINUTE = 60 * SECOND
# Without Kafka, whose rows have headers that the state would keep, too.
LATENESS = re.sub(r"'kafka'.*?'event", "'memory', 'event", SQL, flags=re.DOTALL).replace("(1m)", "(1m) ALLOWED_LATENESS 30s")


def _change(store: StateStore, number: int, rows: list[tuple[str, int, int]], before: int | None, after: int) -> None:
    """Rows are a group, the minute of its window and how many there are."""
    columns = {"_k0": pl.String, "_slice": pl.Int64, "_n": pl.Int64, "_a0_m": pl.Float64}
    frame = pl.DataFrame([(key, START + minute * MINUTE, n, 1.5) for key, minute, n in rows], schema=columns, orient="row")
    step = StepInput(BatchTime(before, after, START), frame.to_arrow() if rows else None)
    account = Account(rows_in=len(rows), passed=len(rows), dead=Counter(), dropped=Counter())
    store.save(Change(number, {"candles": step}, {}, JobCounters(), Ledger({"trades": account}, {})))


def _kept(folder: Folder, sql: str = LATENESS) -> StateStore:
    job = job_of(sql)
    assert "candles" in steps_of(job)
    return StateStore(folder.child(STATE), meanings=column_meanings(job))


def _clock(*partitions: tuple[int | None, int], **changes: object) -> SourceRecord:
    """Partitions by the second that each has reached, and when its last row came."""
    known = {
        number: PartitionRecord(None if at is None else START + at * SECOND, START + seen * SECOND, 1)
        for number, (at, seen) in enumerate(partitions)
    }
    return replace(SourceRecord(known, delay=5 * SECOND), **changes)  # type: ignore[arg-type]


def _at(number: int, watermark: int | None, clock: SourceRecord, arrival: int = 900) -> BatchRecord:
    after = None if watermark is None else START + watermark * SECOND
    windows = {"candles": StatementRecord(after, after, lateness=30 * SECOND)}
    return batch(
        number, arrival=START + arrival * SECOND, watermark=after, sources={"trades": replace(clock, after=after)}, statements=windows
    )


def test_an_open_window_names_the_partition_that_holds_it(windrow: Windrow, tmp_path: Path) -> None:
    folder = record_job(tmp_path, [_at(0, 115, _clock((900, 890), (120, 180)))], LATENESS)
    _change(_kept(folder), 0, [("ACME", 1, 3)], None, START + 115 * SECOND)
    done = windrow("why", "window", "q.sql", "candles", "--key", "ACME", "--start", "2026-01-05T09:31:00Z")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "candles of symbol = ACME, 2026-01-05 09:31:00 to 2026-01-05 09:32:00: 3 rows",
        "  open because the watermark of candles is at 2026-01-05 09:31:55; it closes when the watermark reaches 2026-01-05 09:32:00",
        (
            "  held by partition 1 of trades, which stands at 2026-01-05 09:32:00, less the delay of 5s = 2026-01-05 09:31:55; "
            "its last row came 12m 0s before the last batch"
        ),
        "    partition  greatest event time      last row        still needs",
        "            1  2026-01-05 09:32:00      12m 0s ago      5.0 s",
        "            0  2026-01-05 09:45:00      10.0 s ago      nothing",
        "  a row at or after 2026-01-05 09:32:05 in partition 1 of trades closes it",
        "  or let silent partitions of trades hold nothing back: 'watermark.idle_timeout' = '30s'",
    ]


def test_a_partition_that_sent_nothing(windrow: Windrow, tmp_path: Path) -> None:
    folder = record_job(tmp_path, [_at(0, None, _clock((900, 890), (None, 0)))], LATENESS)
    _change(_kept(folder), 0, [("ACME", 1, 3)], None, START - MINUTE)
    told = windrow("why", "window", "q.sql", "candles").stdout
    assert "the watermark of candles is unset" in told
    assert "held by partition 1 of trades, which has sent nothing yet" in told


def test_a_closed_window_with_its_corrections(windrow: Windrow, tmp_path: Path) -> None:
    folder = record_job(tmp_path, [_at(2, 135, _clock((140, 900)))], LATENESS)
    store = _kept(folder)
    _change(store, 0, [("ACME", 1, 3)], None, START + 115 * SECOND)
    _change(store, 1, [], START + 115 * SECOND, START + 125 * SECOND)
    _change(store, 2, [("ACME", 1, 2)], START + 125 * SECOND, START + 135 * SECOND)
    lines = windrow("why", "window", "q.sql", "candles", "--key", "ACME").stdout.splitlines()
    assert lines[1:] == [
        "  closed: the watermark is at 2026-01-05 09:32:15, beyond its end",
        "  it is kept for late rows, which correct it until the watermark reaches 2026-01-05 09:32:30",
        "  batch 1: final, revision 1, of 3 rows; the watermark went from 2026-01-05 09:31:55 to 2026-01-05 09:32:05",
        "  batch 2: late, revision 2, of 5 rows; the watermark went from 2026-01-05 09:32:05 to 2026-01-05 09:32:15",
    ]


def test_a_window_that_is_gone_and_one_that_never_was(windrow: Windrow, tmp_path: Path) -> None:
    folder = record_job(tmp_path, [_at(1, 300, _clock((305, 900)))], LATENESS)
    store = _kept(folder)
    _change(store, 0, [("ACME", 1, 3)], None, START + 115 * SECOND)
    _change(store, 1, [], START + 115 * SECOND, START + 300 * SECOND)
    assert windrow("why", "window", "q.sql", "candles").stdout.splitlines()[-1] == "  it is held no more: nothing corrects it"
    told = windrow("why", "window", "q.sql", "candles", "--key", "NONE").stdout
    assert told.startswith("no such window of candles is held, and none emitted in batches 0 to 1, which are kept")
    assert windrow("why", "row", "q.sql", "trades").stderr.startswith("[WR618] which row of trades? a row is named by its source")


def test_a_statement_that_is_not_there(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0)])
    done = windrow("why", "window", "q.sql", "candels")
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "[WR654] there is no statement with windows called candels in q.sql",
        "  hint: those of the file: candles",
    ]


def _letter(folder: Folder, **fields: object) -> None:
    names = {"id": "3-0", "batch_id": 3, "attempt": 1, "code": "WR705", "reason": "late", "source": "trades", "statement": "candles"}
    place = {"message": "statement candles: every window that the row belongs to has closed for good", "partition": 0, "offset": 17}
    late = {
        "watermark": datetime(2026, 1, 5, 9, 32, 10, tzinfo=UTC),
        "late_by": 7 * SECOND,
        "window_end": datetime(2026, 1, 5, 9, 32, tzinfo=UTC),
    }
    table = pa.Table.from_pylist([{**names, **place, **late, **fields}], schema=SCHEMA)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    folder.child(LETTERS).replace_atomically("batch-0000000003.parquet", sink.getvalue().to_pybytes())


@pytest.mark.parametrize("words", [("trades", "0", "17"), ("3-0",)])
def test_a_late_row_tells_what_would_have_taken_it(windrow: Windrow, tmp_path: Path, words: tuple[str, ...]) -> None:
    _letter(record_job(tmp_path, [batch(3)]))
    done = windrow("why", "row", "q.sql", *words)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "trades, partition 0, offset 17 (letter 3-0)",
        "  set aside in batch 3 with WR705: statement candles: every window that the row belongs to has closed for good",
        "  too late by 7.0 s: it was judged by the watermark 2026-01-05 09:32:10, and its last window ended at 2026-01-05 09:32:00",
        "  'watermark.delay' = '13s' of trades would have taken it (it is 5s)",
        "  ALLOWED_LATENESS 8s would have taken it as a correction (it is 0s)",
        "  a replay would set it aside again: the watermark never goes back",
    ]


def _offsets(folder: Folder, batch_id: int, upto: int) -> None:
    about = json.dumps({"batchTimestampMs": START // 1000})
    folder.child("checkpoint/offsets").replace_atomically(str(batch_id), f'v1\n{about}\n{{"trades":{{"0":{upto}}}}}'.encode())
    folder.child("checkpoint/commits").replace_atomically(str(batch_id), b'v1\n{"nextBatchWatermarkMs":0}')


def test_a_row_that_is_no_letter_is_found_by_the_offsets(windrow: Windrow, tmp_path: Path) -> None:
    folder = record_job(tmp_path, [batch(0), batch(1)])
    _offsets(folder, 0, 10)
    _offsets(folder, 1, 20)
    done = windrow("why", "row", "q.sql", "trades", "0", "17")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "read by batch 1; it is no dead letter",
        "of the 10 rows of trades in that batch, 9 were passed on",
        "candles: cannot be told without the row itself; of its 9 rows 6 aggregated, 2 filtered out by WHERE price > 1",
    ]


CHAIN = SQL.replace(
    "CREATE STREAM candles", "CREATE STREAM dear AS SELECT symbol, price FROM trades WHERE price > 1;\nCREATE STREAM candles"
)
CHAIN = CHAIN.replace("FROM trades WHERE price > 1 GROUP", "FROM dear GROUP")


def _counted(name: str, rows: int, passed: int, **more: object) -> OperatorRecord:
    return replace(OperatorRecord(name, rows_in=rows, passed=passed), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operators", "told"),
    [
        (
            (
                _counted("trades", 10, 9, dead={"WR701": 1}),
                _counted("dear", 9, 9),
                _counted("candles", 9, 8, dead={"WR705": 1}, late_corrected=2),
            ),
            [
                "of the 10 rows of trades in that batch, 9 were passed on",
                "dear: passed on, like each of its 9 rows",
                "candles: aggregated, like each of its 9 rows but 1 dead letter, 2 of them late, as corrections",
            ],
        ),
        (
            (_counted("trades", 9, 9), _counted("dear", 9, 0, filtered=9), _counted("candles", 0, 0)),
            ["of the 9 rows of trades in that batch, 9 were passed on", "dear: filtered out, like all of its 9 rows by WHERE price > 1"],
        ),
        (
            (_counted("trades", 9, 9), _counted("dear", 9, 9), _counted("candles", 9, 0, dropped={"WR705": 9})),
            [
                "of the 9 rows of trades in that batch, 9 were passed on",
                "dear: passed on, like each of its 9 rows",
                "candles: dropped, like all of its 9 rows: 9 dropped with WR705 (every window that the row belongs to has closed for good)",
            ],
        ),
        (
            (_counted("trades", 9, 0, dropped={"WR704": 9}), _counted("dear", 0, 0), _counted("candles", 0, 0)),
            [
                f"of the 9 rows of trades in that batch, 0 were passed on, 9 dropped with WR704 ({Fate.FUTURE.meaning})",
                "so it was dropped",
            ],
        ),
    ],
)
def test_the_fate_of_a_row_is_told_as_far_as_the_counts_go(
    windrow: Windrow, tmp_path: Path, operators: tuple[OperatorRecord, ...], told: list[str]
) -> None:
    folder = record_job(tmp_path, [batch(0, operators=operators), batch(1, operators=operators)], sql=CHAIN)
    _offsets(folder, 0, 10)
    _offsets(folder, 1, 20)
    done = windrow("why", "row", "q.sql", "trades", "0", "17")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[1:] == told


def test_a_row_that_is_not_read_yet(windrow: Windrow, tmp_path: Path) -> None:
    _offsets(record_job(tmp_path, [batch(0)]), 0, 10)
    done = windrow("why", "row", "q.sql", "trades", "0", "17")
    assert done.exit_code == 2
    assert done.stderr.startswith("[WR653] partition 0 of trades has been read up to offset 10, and 17 is not before it")
    assert "there is no dead letter 9-9" in windrow("why", "row", "q.sql", "9-9").stderr


def test_lag_is_a_sum_of_its_causes(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [_at(0, 115, _clock((890, 890), (120, 180)))])
    lines = windrow("why", "lag", "q.sql").stdout.splitlines()
    assert [line.strip() for line in lines if "s in all" in line] == [
        "13m 5s in all, from the arrival of the last batch back to the watermark"
    ]
    assert [line.split()[:2] for line in lines if line.startswith("    ")][-3:] == [["10.0", "s"], ["12m", "50s"], ["5.0", "s"]]
    assert lines[-1].startswith("hint: partition 1 of trades holds the watermark back by 12m 50s")


@pytest.mark.parametrize(
    ("window", "waits"),
    [
        ("TUMBLING(1m)", "a result comes when its window of 1m is over"),
        ("SLIDING(1h, 5m)", "a row's first result comes when the first of its windows is over, up to 5m later"),
        ("CUMULATE(5m, 1h)", "a row's first result comes when the first of its windows is over, up to 5m later"),
        ("SESSION(30m)", "a result comes when its group has been silent for 30m of event time"),
        ("ROWS(100)", "a result comes with every 100 rows of its group"),
        ("TUMBLING(1m) TRIGGER EVERY 10s OR ON WATERMARK", "results come before windows close"),
    ],
)
def test_lag_says_how_long_a_row_waits_for_its_window(windrow: Windrow, tmp_path: Path, window: str, waits: str) -> None:
    record_job(tmp_path, [batch(0)], SQL.replace("TUMBLING(1m)", window))
    told = windrow("why", "lag", "q.sql")
    assert told.exit_code == 0, told.stderr
    assert f"candles: {waits}" in told.stdout


def test_advice_has_a_curve_and_lines_to_write(windrow: Windrow, tmp_path: Path) -> None:
    late = StatementRecord(lateness=0, late_by={2_000_000: 90, 47_000_000: 10})
    record_job(tmp_path, [batch(0, statements={"candles": late})])
    told = windrow("advise", "q.sql").stdout
    assert "1. 100 rows came too late for candles; a delay of 8s instead of 5s would have taken 90 of them" in told
    assert "   'watermark.delay' = '8s'" in told
    rows = [line.split() for line in told.splitlines() if line.endswith("s") and "%" in line]
    assert rows == [["8s", "3s", "90", "90%", "3s"], ["53s", "48s", "100", "100%", "48s"]]
    (found,) = json.loads(windrow("advise", "q.sql", "--format", "json").stdout)
    assert found["findings"][0]["figures"]["saved"] == 90


def test_the_curve_counts_corrections_beside_rows_that_came_too_late(windrow: Windrow, tmp_path: Path) -> None:
    both = StatementRecord(lateness=30 * SECOND, late_by={47_000_000: 10}, corrected_by={2_000_000: 80, 20_000_000: 10})
    record_job(tmp_path, [batch(0, statements={"candles": both})])
    told = windrow("advise", "q.sql").stdout
    assert "late rows of candles: 10 too late, 90 taken as corrections; a longer delay makes every result later" in told
    rows = [line.split() for line in told.splitlines() if line.endswith("s") and "%" in line]
    assert rows == [
        ["8s", "33s", "0", "80", "80%", "3s"],
        ["26s", "51s", "0", "90", "90%", "21s"],
        ["53s", "78s", "10", "90", "100%", "48s"],
    ]
    (found,) = json.loads(windrow("advise", "q.sql", "--format", "json").stdout)
    assert (found["findings"][0]["figures"]["late"], found["findings"][0]["figures"]["corrected"]) == (10, 90)


def test_corrections_alone_have_a_curve_and_are_no_fault(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0, statements={"candles": StatementRecord(lateness=30 * SECOND, corrected_by={2_000_000: 4})})])
    told = windrow("advise", "q.sql").stdout
    assert "nothing to advise" in told
    assert "late rows of candles: 4 taken as corrections; a longer delay makes every result later\n" in told
    assert [line.split() for line in told.splitlines() if "100%" in line] == [["8s", "4", "100%", "3s"]]


def test_a_source_that_drops_late_rows_has_a_curve_of_delays(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0, statements={"trades": StatementRecord(late_by={2_000_000: 4})})])
    told = windrow("advise", "q.sql").stdout
    assert "late rows of trades: 4 too late; a longer delay makes every result later\n" in told
    assert [line.split() for line in told.splitlines() if "100%" in line] == [["8s", "4", "100%", "3s"]]
    assert "ALLOWED_LATENESS" not in told


def test_a_job_that_waits_or_failed_says_so_first(windrow: Windrow, tmp_path: Path) -> None:
    notes = [JobNote(START, "running"), JobNote(START + SECOND, "waiting", "waits: Kafka at db:9092 does not answer")]
    record_job(tmp_path, [batch(0)], notes=notes)
    told = windrow("advise", "q.sql").stdout
    assert told.startswith("job q: ended without a word while waiting: Kafka at db:9092 does not answer; batch 0, ")
    assert "1. the job takes no rows since 2026-01-05 09:30:01: Kafka at db:9092 does not answer\n   windrow events q.sql " in told
    stopped = [*notes, JobNote(START + 9 * SECOND, "stopped")]
    record_job(tmp_path / "b", [batch(0)], notes=stopped)
    told = windrow("why", "lag", "b/q.sql", "--state", "b/.windrow/q").stdout
    assert "hint: the job took no rows since 2026-01-05 09:30:01 until it was stopped at 2026-01-05 09:30:09: Kafka at db:9092" in told
    failed = [JobNote(START, "running"), JobNote(START + SECOND, "failed", "[WR807] the state has grown\n  hint: hold less")]
    record_job(tmp_path / "c", [batch(0)], notes=failed)
    told = windrow("explain", "c/q.sql", "--analyze", "--state", "c/.windrow/q").stdout
    assert "hint: the job failed at 2026-01-05 09:30:01: [WR807] the state has grown\n      hold less" in told


def test_an_environment_has_a_state_of_its_own(windrow: Windrow, tmp_path: Path) -> None:
    (tmp_path / "windrow.yaml").write_text("environments:\n  dev: {}\n  prod: {}\n")
    place = record_job(tmp_path, [batch(0)])
    shutil.move(Path(place.path).parents[1], tmp_path / "kept")
    shutil.move(tmp_path / "kept", tmp_path / ".windrow" / "dev")
    for words in (
        ["why", "lag", "q.sql"],
        ["advise", "q.sql"],
        ["explain", "q.sql", "--analyze"],
        ["top", "q.sql", "--once"],
        ["why", "window", "q.sql", "candles"],
    ):
        done = windrow(*words, "--env", "dev")
        assert done.exit_code == 0, done.stderr
        assert windrow(*words, "--env", "prod").stderr.startswith("[WR621] there is no state of job q in ")
    assert windrow("ops", "rules", "q.sql", "--env", "prod").exit_code == 0
    assert windrow("ops", "rules", "q.sql", "--env", "nowhere").exit_code == 2


def test_nothing_to_advise_is_said(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(0, statements={})])
    assert "nothing to advise: 1 batch with 10 rows shows no fault" in windrow("advise", "q.sql").stdout


def test_top_draws_one_frame_through_a_pipe(windrow: Windrow, tmp_path: Path) -> None:
    record_job(tmp_path, [batch(n) for n in range(3)])
    told = windrow("top", "q.sql", "--once").stdout
    assert "25 rows/s ███ · batch 0.4 s" in told
    assert "3 dead WR701 by trades: the row could not be decoded" in told
    assert [line.split()[:2] for line in told.splitlines() if "holds the watermark" in line] == [["trades", "1"]]
    overview = windrow("top", "--once").stdout
    assert [line.split()[:3] for line in overview.splitlines()[2:]] == [["q/q", "stopped", "2"]]


def test_top_says_how_the_alerts_of_the_file_stand(windrow: Windrow, tmp_path: Path) -> None:
    folder = record_job(tmp_path, [batch(0)])
    quiet = RuleState("Slow", "info", "orders are slow")
    firing = RuleState("TooMany", "critical", "too many orders", FIRING, START // 1000, 12.5)
    folder.replace_atomically(ALERTS, json.dumps({"at": 0, "alerts": [quiet.to_json(), firing.to_json()]}).encode())
    told = windrow("top", "q.sql", "--once").stdout.splitlines()
    rows = [line.split() for line in told if "orders" in line]
    assert [row[:3] for row in rows] == [["TooMany", "firing", "critical"], ["Slow", "quiet", "info"]]
    assert rows[0][3:] == ["2026-01-05", "09:30:00", "12.5", "too", "many", "orders"]
    assert " 1 of 2 " in windrow("top", "--once").stdout


def test_top_where_nothing_ran(windrow: Windrow) -> None:
    done = windrow("top", "--once")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (2, "[WR621] there is no state of any job below .windrow")
