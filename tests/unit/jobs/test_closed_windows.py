"""The history of a job: one row a window, whatever was written again, put together, taken back or let go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.jobs.closed_windows import HISTORY, WindowKeeper, files_in, history_of, kept_statements
from windrow.jobs.history_sql import answer, streams_asked
from windrow.jobs.system_sql import Result
from windrow.plan.stages import Aggregate, Job
from windrow.spark.execution.batch import BatchResult
from windrow.spark.query.flow import Flow
from windrow.storage import open_folder

SOURCE = "CREATE STREAM t (k STRING, v INT, ts TIMESTAMP) WITH ('connector' = 'memory', 'event.time.field' = 'ts');"
BEGIN = datetime(2026, 1, 5, 10, tzinfo=UTC)
NO_SPARK = cast(SparkSession, None)


def job_of(window: str) -> Job:
    text = f"{SOURCE} CREATE STREAM m AS SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW {window} WITH ('connector' = 'memory');"
    (job,) = compile_sql(text, "t.sql", {}).plan.jobs
    return job


def stage_of(job: Job) -> Aggregate:
    (stage,) = kept_statements(job)
    return stage


def said(batch: int, *rows: tuple[str, int, int, int, str, int]) -> BatchResult:
    """Rows of key, count, start and end in minutes, emission and revision."""
    columns: dict[str, list[Any]] = {name: [] for name in ("k", "n", "_window_start", "_window_end", "_key", "_emission", "_revision")}
    for key, count, start, end, emission, revision in rows:
        bounds = (BEGIN + timedelta(minutes=start), BEGIN + timedelta(minutes=end))
        for name, value in zip(columns, (key, count, *bounds, key, emission, revision), strict=True):
            columns[name].append(value)
    table = pa.table({**columns, "_revision": pa.array(columns["_revision"], pa.int32())})
    return BatchResult(batch, {"m": Flow(("k", "n"), table=table)})


def keeper(
    job: Job, place: Path, seconds: int = 3600, most_bytes: int | None = None, committed: int = -1, retained: int = 20
) -> WindowKeeper:
    made = WindowKeeper(NO_SPARK, job, open_folder(str(place)), seconds, most_bytes, retained)
    made.open(committed)
    return made


def kept(job: Job, place: Path) -> list[tuple[str, int, str]]:
    found = history_of(open_folder(str(place)), stage_of(job))
    assert found is not None
    return list(found.select("k", "n", "_emission").iter_rows())


def test_the_newest_word_of_a_window_counts(tmp_path: Path) -> None:
    job = job_of("TUMBLING(1m)")
    made = keeper(job, tmp_path)
    made.write(said(0, ("a", 1, 0, 1, "early", 1), ("b", 5, 0, 1, "early", 1)))
    made.write(said(1, ("a", 3, 0, 1, "final", 2), ("a", 1, 1, 2, "early", 1)))
    made.write(said(2, ("a", 4, 0, 1, "late", 3), ("b", 5, 0, 1, "retract", 2)))
    assert kept(job, tmp_path) == [("a", 4, "late"), ("a", 1, "early")]


def test_a_batch_that_runs_again_changes_nothing_and_what_was_taken_back_goes(tmp_path: Path) -> None:
    job = job_of("TUMBLING(1m)")
    made = keeper(job, tmp_path)
    made.write(said(0, ("a", 1, 0, 1, "final", 1)))
    made.write(said(1, ("a", 2, 1, 2, "final", 1)))
    made.write(said(1, ("a", 2, 1, 2, "final", 1)))
    assert kept(job, tmp_path) == [("a", 1, "final"), ("a", 2, "final")]
    keeper(job, tmp_path, committed=0)
    assert kept(job, tmp_path) == [("a", 1, "final")]


def test_many_files_become_few_and_say_the_same(tmp_path: Path) -> None:
    job = job_of("TUMBLING(1m)")
    made = keeper(job, tmp_path, seconds=10**9)
    for batch in range(200):
        rows = [("a", batch, batch, batch + 1, "final", 1)]
        # A window that was said before is taken back from then on, also where both stand in files that were put together.
        rows += [("a", 0, 10, 11, "retract", 2)] if batch == 100 else []
        made.write(said(batch, *rows))
        made.tidy(batch)
    assert len(files_in(open_folder(str(tmp_path)).child(HISTORY).child("m"))) < 90
    assert [n for _, n, _ in kept(job, tmp_path)] == [n for n in range(200) if n != 10]
    # Taken back into the middle of a file that was put together.
    keeper(job, tmp_path, seconds=10**9, committed=30)
    assert [n for _, n, _ in kept(job, tmp_path)] == list(range(31))


def test_what_is_too_old_or_too_much_goes(tmp_path: Path) -> None:
    job = job_of("TUMBLING(1m)")
    made = keeper(job, tmp_path / "old", seconds=600)
    for batch in range(30):
        made.write(said(batch, ("a", batch, batch, batch + 1, "final", 1)))
        made.tidy(batch)
    assert [n for _, n, _ in kept(job, tmp_path / "old")] == list(range(19, 30))
    small = keeper(job, tmp_path / "much", seconds=10**9, most_bytes=10_000)
    for batch in range(30):
        small.write(said(batch, ("a", batch, batch, batch + 1, "final", 1)))
        small.tidy(batch)
    left = [n for _, n, _ in kept(job, tmp_path / "much")]
    assert 0 < len(left) < 30
    assert left == list(range(30 - len(left), 30))
    assert small.bytes <= 10_000


def test_a_session_that_grew_replaces_what_it_was(tmp_path: Path) -> None:
    job = job_of("SESSION(5m)")
    made = keeper(job, tmp_path)
    made.write(said(0, ("a", 1, 0, 5, "early", 1), ("a", 1, 20, 25, "final", 1), ("b", 1, 0, 5, "final", 1)))
    made.write(said(1, ("a", 3, 0, 9, "final", 2)))
    assert kept(job, tmp_path) == [("b", 1, "final"), ("a", 3, "final"), ("a", 1, "final")]


def test_windows_of_so_many_rows_have_no_history() -> None:
    assert kept_statements(job_of("ROWS(3)")) == ()


def _answer(sql: str) -> Result:
    rows = pl.DataFrame({"k": ["a", "b", "a"], "n": [1, 2, 3], "_emission": ["final", "final", "early"]})
    return answer(sql, {"minutes": rows, "Hours": rows})


def test_a_question_is_answered() -> None:
    assert _answer("SELECT k, SUM(n) AS n FROM HISTORY OF minutes GROUP BY k ORDER BY k").rows == (("a", 4), ("b", 2))
    assert _answer("select m.n from history of MINUTES as m join history of hours h on m.n = h.n where m.k = 'b';").rows == ((2,),)
    assert _answer("SELECT minutes.n FROM HISTORY OF minutes WHERE minutes.n > 2").rows == ((3,),)
    assert streams_asked("SELECT * FROM minutes") == []


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("SELECT * FROM HISTORY OF minuts", "no history of minuts is kept", "did you mean minutes?"),
        ("SELECT * FROM minutes", "a history answers one SELECT", "SELECT * FROM HISTORY OF minutes"),
        ("DELETE FROM minutes", "a history answers one SELECT", "SELECT * FROM HISTORY OF minutes"),
        ("SELECT * FROM HISTORY OF minutes JOIN hours USING (k)", "hours alone is a stream", "HISTORY OF hours"),
        ("SELECT vlume FROM HISTORY OF minutes", "cannot be answered", "HISTORY OF minutes has k, n, _emission"),
        ("SELECT * FROM read_csv('/etc/passwd'), HISTORY OF minutes", "read_csv is not for a history", "HISTORY OF"),
    ],
)
def test_what_cannot_be_asked_is_told(sql: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        _answer(sql)
    assert caught.value.code == "WR656"
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
