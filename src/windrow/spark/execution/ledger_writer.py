"""The ledger writer: all that is added to the accounts of sources, statements and tables, and the queries that count for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import JobError
from windrow.model.constraint import Constraint, OnViolation, judging, warning
from windrow.model.fate import FIRST_VIOLATION, Fate, fate_of
from windrow.model.policies import Granularity, LateAtSource, RowPolicy
from windrow.observe.ledger import Account, Ledger, TakenBack
from windrow.plan.stages import FilterProject, Job, OverAggregate, Read
from windrow.spark.compile.constraints import violates_sql
from windrow.spark.compile.expressions import of_batch, to_sql
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.spark.execution.late_row_counts import LateRowCounts
from windrow.spark.execution.violations import refuse_violation, violation_letters
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import LazyRelation, QueryRunner
from windrow.spark.row_columns import (
    BEHIND,
    FATE,
    GREATEST,
    JUDGED,
    OWN_WATERMARK,
    PASSED,
    RIDING,
    ROW,
    ROWS_COUNT,
    SOURCE_PARTITION,
    SOURCE_WATERMARK,
    WARNED,
    WATERMARK_NEUTRAL_FATES,
)
from windrow.spark.scan.diverted_rows import diverted_row, unpack_rows
from windrow.spark.scan.row_reader import policies
from windrow.spark.scan.row_watermarks import row_watermarks_sql
from windrow.spark.scan.source_partition import source_partition_sql
from windrow.windowing.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.spark.execution.batch import BatchResult

# Fates that a source gives; the rest are a statement's.
SOURCE_FATES = (Fate.UNDECODABLE, Fate.BAD_FIELD, Fate.NO_EVENT_TIME, Fate.FUTURE, Fate.LATE_AT_SOURCE)


class LedgerWriter:
    def __init__(self, spark: SparkSession, job: Job, queries: QueryRunner) -> None:
        self._spark = spark
        self._queries = queries
        self._job = job
        self._reads = {read.name: read for read in job.reads}

    def mark_late_at_source(self, read: Read, rows: LazyRelation, clock: Clock, now: int) -> LazyRelation:
        """``watermark.late_rows = drop``: rows behind their own partition's watermark go no further."""
        rows = self._with_row_watermarks(read, rows, clock, now)
        behind = _behind(read, clock)
        if read.clock.late_rows is not LateAtSource.DROP or behind is None:
            return rows
        fate = f"CAST(CASE WHEN {behind} THEN {Fate.LATE_AT_SOURCE.value} ELSE {FATE} END AS TINYINT)"
        return LazyRelation(rows.given, f"SELECT * EXCEPT ({FATE}), {fate} AS {FATE} FROM {rows.source}")

    def _with_row_watermarks(self, read: Read, rows: LazyRelation, clock: Clock, now: int) -> LazyRelation:
        if read.clock.granularity is not Granularity.ROW:
            return rows
        own, source = row_watermarks_sql(
            clock, source_partition_sql(read), read.clock.idle_timeout, now, "unix_micros(`_event_time`)", f"{FATE} = 0"
        )
        return LazyRelation(rows.given, f"SELECT *, {own} AS {OWN_WATERMARK}, {source} AS {SOURCE_WATERMARK} FROM {rows.source}")

    def account(self, read: Read, rows: LazyRelation, clock: Clock, result: BatchResult) -> dict[int, int]:
        """A job of its own: counts by fate, the clock's maxima, and the rows that were set aside.

        ``clock`` is the one the batch started with.
        """
        filters = [stage for stage in self._job.readers_of(read.name) if isinstance(stage, FilterProject)]
        accounts = self.account_columns(read, rows.columns, clock)
        columns = [f"count(1) AS {ROWS_COUNT}", f"max({GREATEST}) AS {GREATEST}", f"count_if({BEHIND}) AS {BEHIND}"]
        columns += (f"count_if({passes_sql(stage)}) AS {PASSED}{index}" for index, stage in enumerate(filters))
        warnings = warning(read.constraints)
        columns += (f"count_if({FATE} = 0 AND {violates_sql(each)}) AS {WARNED}{index}" for index, each in enumerate(warnings))
        by = f"{FATE}, {SOURCE_PARTITION}, {ROW}"
        placed = f"SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in accounts.items())}"
        found = self._queries.table(rows, lambda given: f"SELECT {by}, {', '.join(columns)} FROM ({placed} FROM {given}) GROUP BY {by}")
        for index, each in enumerate(warnings):
            record_warnings(result.ledger.source(read.name), each, pc.sum(found[f"{WARNED}{index}"]).as_py() or 0)
        return self.record_fates(read, {stage.name: f"{PASSED}{index}" for index, stage in enumerate(filters)}, found, rows, result)

    def account_columns(self, read: Read, columns: tuple[str, ...], clock: Clock) -> dict[str, str]:
        """SQL of what the accounts ask of each row."""
        behind = _behind(read, clock) if read.clock.late_rows is LateAtSource.WARN else None
        return {
            SOURCE_PARTITION: source_partition_sql(read),
            ROW: diverted_row(columns, f"{FATE} <> 0"),
            GREATEST: "unix_micros(_event_time)",
            BEHIND: behind or "false",
        }

    def record_fates(
        self, read: Read, passed: Mapping[str, str], found: pa.Table, given: LazyRelation, result: BatchResult
    ) -> dict[int, int]:
        """Counts of rows by fate, partition and the row that is set aside, ``passed`` by statement; gives the clock's maxima."""
        found = found.rename_columns([JUDGED if name == FATE else name for name in found.column_names])
        found = unpack_rows(found, given, read)
        self.record_source(read.name, found, result.batch_id, result)
        result.ledger.source(read.name).late_warned += pc.sum(found[BEHIND]).as_py() or 0
        good = found.filter(pc.equal(found[JUDGED], Fate.OK.value))
        total = pc.sum(good[ROWS_COUNT]).as_py() or 0
        for statement, column in passed.items():
            record_filter(result.ledger, statement, total, pc.sum(good[column]).as_py() or 0)
        return _greatest_by_partition(found)

    def record_after_write(self, read: Read, statement: str, found: pa.Table, given: LazyRelation, result: BatchResult) -> dict[int, int]:
        """The same for rows that were counted while a sink read them: the change of the batch has been made by then, and is added to."""
        assert result.change is not None
        own = replace(result, ledger=Ledger(), dead_letters=[], late=LateRowCounts())
        greatest = self.record_fates(read, {statement: PASSED}, found, given, own)
        result.ledger.add(own.ledger)
        result.change.ledger.add(own.ledger)
        result.dead_letters.extend(own.dead_letters)
        result.late.add(own.late)
        return greatest

    def record_driver_rows(self, read: Read, rows: pa.Table, given: LazyRelation, result: BatchResult) -> tuple[pa.Table, dict[int, int]]:
        """The same for rows that are in the driver already, with their ``account_columns``: gives those that go on, and the maxima.

        Rows that go on keep their text: a join may still find them to be late.
        """
        by = [JUDGED, SOURCE_PARTITION, ROW]
        behind = rows[BEHIND].cast(pa.int64())
        counted = rows.select([*by, GREATEST]).append_column(BEHIND, behind)
        found = counted.group_by(by).aggregate([([], "count_all"), (GREATEST, "max"), (BEHIND, "sum")])
        maxima = self.record_fates(read, {}, found.rename_columns([*by, ROWS_COUNT, GREATEST, BEHIND]), given, result)
        return rows.filter(pc.equal(rows[JUDGED], Fate.OK.value)).drop_columns([name for name in RIDING if name != ROW]), maxima

    def refuse_failed(self, read: Read, found: pa.Table) -> None:
        """Rows whose policy is to stop the job, before anything of their batch is written."""
        for fate, policy in policies(read).items():
            if policy is RowPolicy.FAIL:
                _refuse(read.name, fate, pc.sum(found.filter(pc.equal(found[FATE], fate.value))[ROWS_COUNT]).as_py() or 0)

    def record_source(self, name: str, partials: pa.Table, batch_id: int, result: BatchResult) -> None:
        """Count what a source brought, and keep what was set aside there. ``partials`` has _judged, _rows and _row."""
        read = self._reads[name]
        account = result.ledger.source(name)
        what = policies(read)
        counts = counts_by_fate(partials)
        account.rows_in += sum(counts.values())
        if SOURCE_PARTITION in partials.column_names:
            _count_by_partition(result.partitions.setdefault(name, {}), partials)
        account.passed += sum(count for fate, count in counts.items() if fate not in (*SOURCE_FATES, Fate.VIOLATION))
        for fate in SOURCE_FATES:
            if not (count := counts.get(fate, 0)):
                continue
            policy = what[fate]
            if policy is RowPolicy.FAIL:
                _refuse(name, fate, count)
            record_set_aside(account, fate, policy, count)
            if policy is RowPolicy.DEAD_LETTER:
                result.dead_letters.extend(_letters(fate, name, partials.filter(pc.equal(partials[JUDGED], fate.value)), batch_id))
            elif fate is Fate.LATE_AT_SOURCE:
                result.late.take_at_source(name, partials.filter(pc.equal(partials[JUDGED], fate.value)))
        if counts.get(Fate.VIOLATION):
            _record_source_violations(read, partials, batch_id, result)

    def record_statement_fates(self, statement: str, source: str, partials: pa.Table, batch_id: int, result: BatchResult) -> None:
        """Rows that a statement itself could not place in time: its own event time is missing or far in the future."""
        account = result.ledger.statement(statement)
        for fate in (Fate.NO_EVENT_TIME, Fate.FUTURE):
            rows = partials.filter(pc.equal(partials[JUDGED], fate.value))
            letters = _letters(fate, source, rows, batch_id, statement)
            account.rows_in += len(letters)
            account.dead[fate.code] += len(letters)
            result.dead_letters.extend(letters)

    def record_filtered_rows(self, stage: FilterProject, source: Flow, ledger: Ledger) -> None:
        """Rows in and out of a statement that reads another one: a job of its own."""
        condition = "true" if stage.where is None else f"coalesce({to_sql(stage.where)}, false)"
        row = source.as_frame(self._spark).selectExpr("count(1) AS n", f"count_if({condition}) AS p").collect()[0]
        record_filter(ledger, stage.name, row["n"], row["p"])

    def record_over(self, stage: OverAggregate, source: Flow, looked_at: int, passed: int, ledger: Ledger) -> None:
        """Of the rows that WHERE lets through QUALIFY leaves out some; what a statement was given is counted only if it has a WHERE."""
        total = looked_at
        if stage.where is not None:
            frame = source.as_frame(self._spark)
            good = frame.where(f"{FATE} = 0") if FATE in frame.columns else frame
            total = good.count()
        record_filter(ledger, stage.name, total, passed)


def counts_by_fate(partials: pa.Table) -> dict[Fate, int]:
    """How many rows came to each end."""
    sums = partials.group_by(JUDGED).aggregate([(ROWS_COUNT, "sum")]).to_pylist()
    counts: Counter[Fate] = Counter()
    for row in sums:
        counts[fate_of(row[JUDGED])] += row[f"{ROWS_COUNT}_sum"]
    return counts


def _record_source_violations(read: Read, partials: pa.Table, batch_id: int, result: BatchResult) -> None:
    """Each row under the constraint that set it aside."""
    for number, each in judging(read.constraints):
        rows = partials.filter(pc.equal(partials[JUDGED], FIRST_VIOLATION + number))
        count = pc.sum(rows[ROWS_COUNT]).as_py() or 0
        if not count:
            continue
        counted = zip(rows[ROW].to_pylist(), rows[ROWS_COUNT].to_pylist(), strict=True)
        letters = violation_letters(each, read.name, None, (row for row, times in counted for _ in range(times)), batch_id)
        if each.on_violation is OnViolation.FAIL:
            refuse_violation(f"source {read.name}", each, count, letters[0])
        record_violations(result.ledger.source(read.name), each, count)
        if each.on_violation is OnViolation.DEAD_LETTER:
            result.dead_letters.extend(letters)


def _refuse(source: str, fate: Fate, count: int) -> None:
    if count:
        raise JobError(
            fate.code,
            f"source {source}: {fate.meaning} ({count} rows), and the policy for that is 'fail'",
            "set the policy to 'dead_letter' to keep such rows aside and go on",
        )


def passes_sql(stage: FilterProject) -> str:
    """Whether a sound row goes through the statement."""
    return f"{FATE} = 0" if stage.where is None else f"{FATE} = 0 AND coalesce({to_sql(stage.where)}, false)"


def _behind(read: Read, clock: Clock) -> str | None:
    """SQL that is true for a sound row behind the watermark of its own partition; None while no partition has one."""
    if read.clock.granularity is Granularity.ROW:
        return f"({FATE} = 0 AND coalesce(unix_micros(_event_time) < {OWN_WATERMARK} - {read.clock.delay}, false))"
    watermarks = {p: progress.greatest - read.clock.delay for p, progress in clock.partitions.items() if progress.greatest is not None}
    partition_sql = source_partition_sql(read)
    own = " OR ".join(
        f"({partition_sql} = {p} AND unix_micros(_event_time) < {of_batch(mark, partition_sql)})" for p, mark in watermarks.items()
    )
    return f"({FATE} = 0 AND ({own}))" if watermarks else None


def record_taken_back(ledger: Ledger, name: str, taken: TakenBack, *, is_source: bool) -> None:
    """Rows that had been set aside come once more."""
    (ledger.source(name) if is_source else ledger.statement(name)).take_back(taken)


def record_filter(ledger: Ledger, name: str, total: int, passed: int) -> None:
    account = ledger.statement(name)
    account.rows_in += total
    account.passed += passed
    account.filtered += total - passed
    account.emitted += passed


def record_limited(ledger: Ledger, name: str, flow: Flow) -> None:
    """What LIMIT leaves of a batch's rows is what the statement puts out."""
    assert flow.table is not None
    ledger.statement(name).emitted = flow.table.num_rows


def record_loaded(account: Account, rows: int, good: int) -> None:
    """Rows of a table; those that are not good are set aside one by one."""
    account.rows_in += rows
    account.passed += good


def record_violations(account: Account, constraint: Constraint, rows: int) -> None:
    """Rows that a constraint sets aside. Those that stop the job were refused before."""
    is_kept = constraint.on_violation is OnViolation.DEAD_LETTER
    (account.dead if is_kept else account.dropped)[Fate.VIOLATION.code] += rows
    account.violations[constraint.name] += rows


def record_warnings(account: Account, constraint: Constraint, rows: int) -> None:
    if rows:
        account.warned[constraint.name] += rows


def record_expected(ledger: Ledger, name: str, rows: int, good: int) -> None:
    """Rows of a statement that were judged by what its stream expects; those that violate it are recorded by constraint."""
    account = ledger.statement(name)
    account.rows_in += rows
    account.passed += good
    account.emitted += good


def record_set_aside(account: Account, fate: Fate, policy: RowPolicy, rows: int) -> None:
    """Rows that a source or a table sets aside, by what is to become of them."""
    (account.dead if policy is RowPolicy.DEAD_LETTER else account.dropped)[fate.code] += rows


def open_account(ledger: Ledger, name: str) -> None:
    """A statement has an account even where nothing comes to it."""
    ledger.statement(name)


def record_exploded(ledger: Ledger, name: str, rows: int, gave: int, given: int) -> None:
    """Of ``rows``, ``gave`` became any; these are ``given`` rows."""
    account = ledger.statement(name)
    account.rows_in += rows
    account.passed += gave
    account.filtered += rows - gave
    account.emitted += given


def record_aggregated(ledger: Ledger, name: str, counts: Mapping[Fate, int], corrected: int, included: int) -> None:
    """Rows of an aggregation by fate; of those that passed, some came late and were counted all the same."""
    account = ledger.statement(name)
    account.passed += counts.get(Fate.OK, 0)
    account.filtered += counts.get(Fate.FILTERED, 0)
    account.late_corrected += corrected
    account.late_included += included
    account.rows_in += counts.get(Fate.OK, 0) + counts.get(Fate.FILTERED, 0) + counts.get(Fate.LATE, 0)


def record_joined(ledger: Ledger, name: str, taken: int, filtered: int, late: int) -> None:
    """Of the rows that came to a join, some were filtered, here or while they were read, and some came too late."""
    account = ledger.statement(name)
    account.rows_in += taken
    account.filtered += filtered
    account.passed += taken - filtered - late


def record_emitted(ledger: Ledger, name: str, rows: int, kinds: Mapping[str, int] | None = None) -> None:
    """``kinds`` are those of windows and groups: early, final, late, change, retract."""
    account = ledger.statement(name)
    account.emitted += rows
    account.emissions.update(kinds or {})


def record_not_passed(ledger: Ledger, name: str, rows: int) -> None:
    """Rows that had been taken for good ones, until no window took them."""
    ledger.statement(name).passed -= rows


def record_late_dropped(ledger: Ledger, name: str, rows: int) -> None:
    ledger.statement(name).dropped[Fate.LATE.code] += rows


def record_late_dead(ledger: Ledger, name: str, rows: int) -> None:
    ledger.statement(name).dead[Fate.LATE.code] += rows


def record_refused(ledger: Ledger, name: str, rows: int) -> None:
    """Rows that an output refused."""
    ledger.statement(name).refused += rows


def record_written(ledger: Ledger, name: str, spilled: int, failed_over: int, unsent: Mapping[str, int]) -> None:
    """Rows that an output could not take: they wait, went to another output, or were dropped, by reason code.

    Fewer than none were dropped where some came through after all.
    """
    account = ledger.statement(name)
    account.spilled += spilled
    account.failed_over += failed_over
    account.unsent.update(unsent)


def _letters(fate: Fate, source: str, rows: pa.Table, batch_id: int, statement: str | None = None) -> list[DeadLetter]:
    counted = zip(rows[ROW].to_pylist(), rows[ROWS_COUNT].to_pylist(), strict=True)
    return [DeadLetter(fate, source, statement, row, batch_id) for row, times in counted for _ in range(times)]


def _count_by_partition(counts: dict[int, int], found: pa.Table) -> None:
    for row in found.group_by(SOURCE_PARTITION).aggregate([(ROWS_COUNT, "sum")]).to_pylist():
        if row[SOURCE_PARTITION] is not None:
            counts[row[SOURCE_PARTITION]] = counts.get(row[SOURCE_PARTITION], 0) + row[f"{ROWS_COUNT}_sum"]


def _greatest_by_partition(found: pa.Table) -> dict[int, int]:
    still = pa.array([fate.value for fate in WATERMARK_NEUTRAL_FATES], found[JUDGED].type)
    moving = found.filter(pc.and_(pc.invert(pc.is_in(found[JUDGED], still)), pc.less(found[JUDGED], FIRST_VIOLATION)))
    greatest = moving.group_by(SOURCE_PARTITION).aggregate([(GREATEST, "max")]).to_pylist()
    return {row[SOURCE_PARTITION]: at for row in greatest if (at := row[f"{GREATEST}_max"]) is not None}
