"""The accounts of a source: how many rows came, how far its clock went, and what was set aside before any statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import JobError
from windrow.model.fate import Fate
from windrow.observe.ledger import Ledger
from windrow.plan.stages import Derive, Job, LookBack, Read
from windrow.spark.carrying import ROW, carried_row, unpack_rows
from windrow.spark.dead_letters import DeadLetter
from windrow.spark.expressions import of_batch, to_sql
from windrow.spark.feeds import JUDGED, ROWS_COUNT, STILL
from windrow.spark.flow import Flow
from windrow.spark.lanes import lane_of
from windrow.spark.marks import OWN_MARK, SOURCE_MARK, marks_sql
from windrow.spark.querying import Queries, Select
from windrow.spark.reading import FATE, policies
from windrow.windowing.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.spark.batch import BatchResult

# Columns of the accounts: partition, how far event time came in it, rows behind the watermark, rows that the statement passes on.
LANE, GREATEST, BEHIND, PASSED = "_lane", "_greatest", "_behind", "_passed"
# Columns by which rows that are in the driver are accounted for.
RIDING = (JUDGED, LANE, ROW, GREATEST, BEHIND)
# Fates that a source gives; the rest are a statement's.
SOURCE_FATES = (Fate.UNDECODABLE, Fate.BAD_FIELD, Fate.NO_EVENT_TIME, Fate.FUTURE, Fate.LATE_AT_SOURCE)


class Accountant:
    def __init__(self, spark: SparkSession, job: Job, queries: Queries) -> None:
        self._spark = spark
        self._queries = queries
        self._job = job
        self._reads = {read.name: read for read in job.reads}

    def judge_at_source(self, read: Read, rows: Select, clock: Clock, now: int) -> Select:
        """``watermark.late_rows = drop``: rows behind their own partition's watermark go no further."""
        rows = self._with_marks(read, rows, clock, now)
        behind = _behind(read, clock)
        if read.clock.late_rows != "drop" or behind is None:
            return rows
        fate = f"CAST(CASE WHEN {behind} THEN {Fate.LATE_AT_SOURCE.value} ELSE {FATE} END AS TINYINT)"
        return Select(rows.given, f"SELECT * EXCEPT ({FATE}), {fate} AS {FATE} FROM {rows.source}")

    def _with_marks(self, read: Read, rows: Select, clock: Clock, now: int) -> Select:
        if read.clock.granularity != "row":
            return rows
        own, source = marks_sql(clock, lane_of(read), read.clock.idle_timeout, now, "unix_micros(`_event_time`)", f"{FATE} = 0")
        return Select(rows.given, f"SELECT *, {own} AS {OWN_MARK}, {source} AS {SOURCE_MARK} FROM {rows.source}")

    def account(self, read: Read, rows: Select, clock: Clock, result: BatchResult) -> dict[int, int]:
        """A job of its own: counts by fate, the clock's maxima, and the rows that were set aside.

        ``clock`` is the one the batch started with.
        """
        filters = [stage for stage in self._job.readers_of(read.name) if isinstance(stage, Derive)]
        marks = self.marks(read, rows.columns, clock)
        columns = [f"count(1) AS {ROWS_COUNT}", f"max({GREATEST}) AS {GREATEST}", f"count_if({BEHIND}) AS {BEHIND}"]
        columns += (f"count_if({passes_sql(stage)}) AS {PASSED}{index}" for index, stage in enumerate(filters))
        by = f"{FATE}, {LANE}, {ROW}"
        placed = f"SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in marks.items())}"
        found = self._queries.table(rows, lambda given: f"SELECT {by}, {', '.join(columns)} FROM ({placed} FROM {given}) GROUP BY {by}")
        return self.book(read, {stage.name: f"{PASSED}{index}" for index, stage in enumerate(filters)}, found, rows, result)

    def marks(self, read: Read, columns: tuple[str, ...], clock: Clock) -> dict[str, str]:
        """SQL of what the accounts ask of each row."""
        behind = _behind(read, clock) if read.clock.late_rows == "warn" else None
        return {
            LANE: lane_of(read),
            ROW: carried_row(columns, f"{FATE} <> 0"),
            GREATEST: "unix_micros(_event_time)",
            BEHIND: behind or "false",
        }

    def book(self, read: Read, passed: Mapping[str, str], found: pa.Table, given: Select, result: BatchResult) -> dict[int, int]:
        """Counts of rows by fate, partition and the row that is set aside, ``passed`` by statement; gives the clock's maxima."""
        found = found.rename_columns([JUDGED if name == FATE else name for name in found.column_names])
        found = unpack_rows(found, given, read)
        self.book_source(read.name, found, result.batch_id, result)
        result.ledger.source(read.name).late_warned += pc.sum(found[BEHIND]).as_py() or 0
        good = found.filter(pc.equal(found[JUDGED], Fate.OK.value))
        total = pc.sum(good[ROWS_COUNT]).as_py() or 0
        for statement, column in passed.items():
            book_filter(result.ledger, statement, total, pc.sum(good[column]).as_py() or 0)
        return _greatest_by_partition(found)

    def account_rows(self, read: Read, rows: pa.Table, given: Select, result: BatchResult) -> tuple[pa.Table, dict[int, int]]:
        """The same for rows that are in the driver already, with what ``marks`` asks of them: gives those that go on, and the maxima.

        Rows that go on keep their text: a join may still find them to be late.
        """
        by = [JUDGED, LANE, ROW]
        behind = rows[BEHIND].cast(pa.int64())
        asked = rows.select([*by, GREATEST]).append_column(BEHIND, behind)
        found = asked.group_by(by).aggregate([([], "count_all"), (GREATEST, "max"), (BEHIND, "sum")])
        maxima = self.book(read, {}, found.rename_columns([*by, ROWS_COUNT, GREATEST, BEHIND]), given, result)
        return rows.filter(pc.equal(rows[JUDGED], Fate.OK.value)).drop_columns([name for name in RIDING if name != ROW]), maxima

    def refuse_failed(self, read: Read, found: pa.Table) -> None:
        """Rows whose policy is to stop the job, before anything of their batch is written."""
        for fate, policy in policies(read).items():
            if policy == "fail":
                _refuse(read.name, fate, pc.sum(found.filter(pc.equal(found[FATE], fate.value))[ROWS_COUNT]).as_py() or 0)

    def book_source(self, name: str, fed: pa.Table, batch_id: int, result: BatchResult) -> None:
        """Count what a source brought, and keep what was set aside there. ``fed`` has _judged, _rows and _row."""
        read = self._reads[name]
        account = result.ledger.source(name)
        what = policies(read)
        counts = counts_by_fate(fed)
        account.rows_in += sum(counts.values())
        account.passed += sum(count for fate, count in counts.items() if fate not in SOURCE_FATES)
        for fate in SOURCE_FATES:
            if not (count := counts.get(fate, 0)):
                continue
            policy = what[fate]
            if policy == "fail":
                _refuse(name, fate, count)
            (account.dead if policy == "dead_letter" else account.dropped)[fate.code] += count
            if policy == "dead_letter":
                result.dead_letters.extend(_letters(fate, name, fed.filter(pc.equal(fed[JUDGED], fate.value)), batch_id))

    def book_statement_fates(self, statement: str, source: str, fed: pa.Table, batch_id: int, result: BatchResult) -> None:
        """Rows that a statement itself could not place in time: its own event time is missing or far in the future."""
        account = result.ledger.statement(statement)
        for fate in (Fate.NO_EVENT_TIME, Fate.FUTURE):
            rows = fed.filter(pc.equal(fed[JUDGED], fate.value))
            letters = _letters(fate, source, rows, batch_id, statement)
            account.rows_in += len(letters)
            account.dead[fate.code] += len(letters)
            result.dead_letters.extend(letters)

    def account_filter(self, stage: Derive, source: Flow, ledger: Ledger) -> None:
        """Rows in and out of a statement that reads another one."""
        condition = "true" if stage.where is None else f"coalesce({to_sql(stage.where)}, false)"
        if source.table is not None and stage.where is None:
            book_filter(ledger, stage.name, source.table.num_rows, source.table.num_rows)
            return
        row = source.as_frame(self._spark).selectExpr("count(1) AS n", f"count_if({condition}) AS p").collect()[0]
        book_filter(ledger, stage.name, row["n"], row["p"])

    def book_look_back(self, stage: LookBack, source: Flow, passed: int, ledger: Ledger) -> None:
        """A statement that looks back passes on what its WHERE lets through; what it was given is counted only if it filters."""
        total = passed
        if stage.where is not None:
            frame = source.as_frame(self._spark)
            good = frame.where(f"{FATE} = 0") if FATE in frame.columns else frame
            total = good.count()
        book_filter(ledger, stage.name, total, passed)


def counts_by_fate(fed: pa.Table) -> dict[Fate, int]:
    """How many rows came to each end."""
    sums = fed.group_by(JUDGED).aggregate([(ROWS_COUNT, "sum")]).to_pylist()
    return {Fate(row[JUDGED]): row[f"{ROWS_COUNT}_sum"] for row in sums}


def _refuse(source: str, fate: Fate, count: int) -> None:
    if count:
        raise JobError(
            fate.code,
            f"source {source}: {fate.meaning} ({count} rows), and the policy for that is 'fail'",
            "set the policy to 'dead_letter' to keep such rows aside and go on",
        )


def passes_sql(stage: Derive) -> str:
    """Whether a sound row goes through the statement."""
    return f"{FATE} = 0" if stage.where is None else f"{FATE} = 0 AND coalesce({to_sql(stage.where)}, false)"


def _behind(read: Read, clock: Clock) -> str | None:
    """SQL that is true for a sound row behind the watermark of its own partition; None while no partition has one."""
    if read.clock.granularity == "row":
        return f"({FATE} = 0 AND coalesce(unix_micros(_event_time) < {OWN_MARK} - {read.clock.delay}, false))"
    marks = {p: progress.greatest - read.clock.delay for p, progress in clock.partitions.items() if progress.greatest is not None}
    lane = lane_of(read)
    own = " OR ".join(f"({lane} = {p} AND unix_micros(_event_time) < {of_batch(mark, lane)})" for p, mark in marks.items())
    return f"({FATE} = 0 AND ({own}))" if marks else None


def book_filter(ledger: Ledger, name: str, total: int, passed: int) -> None:
    account = ledger.statement(name)
    account.rows_in += total
    account.passed += passed
    account.filtered += total - passed
    account.emitted += passed


def _letters(fate: Fate, source: str, rows: pa.Table, batch_id: int, statement: str | None = None) -> list[DeadLetter]:
    counted = zip(rows[ROW].to_pylist(), rows[ROWS_COUNT].to_pylist(), strict=True)
    return [DeadLetter(fate, source, statement, row, batch_id) for row, times in counted for _ in range(times)]


def _greatest_by_partition(found: pa.Table) -> dict[int, int]:
    still = pa.array([fate.value for fate in STILL], found[JUDGED].type)
    moving = found.filter(pc.invert(pc.is_in(found[JUDGED], still)))
    reached = moving.group_by(LANE).aggregate([(GREATEST, "max")]).to_pylist()
    return {row[LANE]: at for row in reached if (at := row[f"{GREATEST}_max"]) is not None}
