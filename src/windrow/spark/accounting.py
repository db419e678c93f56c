"""The accounts of a source: how many rows came, how far its clock went, and what was set aside before any statement."""

from __future__ import annotations

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
from windrow.spark.feeds import ROWS_COUNT
from windrow.spark.flow import Flow
from windrow.spark.lanes import lane_of
from windrow.spark.marks import OWN_MARK, SOURCE_MARK, marks_sql
from windrow.spark.querying import query
from windrow.spark.reading import FATE, policies
from windrow.windowing.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from windrow.spark.batch import BatchResult

_LANE = "_lane"
_TIME = "_time"
# Columns by which rows that are in the driver are accounted for.
RIDING = ("_judged", ROW, _LANE, _TIME, "_behind")
# Fates that a source gives; the rest are a statement's.
SOURCE_FATES = (Fate.UNDECODABLE, Fate.BAD_FIELD, Fate.NO_EVENT_TIME, Fate.FUTURE, Fate.LATE_AT_SOURCE)


class Accountant:
    def __init__(self, spark: SparkSession, job: Job) -> None:
        self._spark = spark
        self._job = job
        self._reads = {read.name: read for read in job.reads}

    def judge_at_source(self, read: Read, frame: DataFrame, clock: Clock, now: int) -> DataFrame:
        """``watermark.late_rows = drop``: rows behind their own partition's watermark go no further."""
        frame = self._with_marks(read, frame, clock, now)
        behind = _behind(read, clock)
        if read.clock.late_rows != "drop" or behind is None:
            return frame
        fate = f"CAST(CASE WHEN {behind} THEN {Fate.LATE_AT_SOURCE.value} ELSE {FATE} END AS TINYINT)"
        return frame.selectExpr(f"* EXCEPT ({FATE})", f"{fate} AS {FATE}")

    def _with_marks(self, read: Read, frame: DataFrame, clock: Clock, now: int) -> DataFrame:
        if read.clock.granularity != "row":
            return frame
        own, source = marks_sql(clock, lane_of(read), read.clock.idle_timeout, now, "unix_micros(`_event_time`)", f"{FATE} = 0")
        return frame.selectExpr("*", f"{own} AS {OWN_MARK}", f"{source} AS {SOURCE_MARK}")

    def account(self, read: Read, frame: DataFrame, clock: Clock, batch_id: int, result: BatchResult) -> dict[int, int]:
        """A job of its own: counts by fate, the clock's maxima, and the rows that were set aside.

        ``clock`` is the one the batch started with.
        """
        filters = [stage for stage in self._job.readers_of(read.name) if isinstance(stage, Derive)]
        behind = _behind(read, clock) if read.clock.late_rows == "warn" else None
        columns = ["count(1) AS " + ROWS_COUNT, "max(unix_micros(_event_time)) AS _greatest", f"count_if({behind or 'false'}) AS _behind"]
        for index, stage in enumerate(filters):
            condition = "true" if stage.where is None else f"coalesce({to_sql(stage.where)}, false)"
            columns.append(f"count_if({FATE} = 0 AND {condition}) AS _passed{index}")
        row = carried_row(tuple(frame.columns), f"{FATE} <> 0")
        by = f"{FATE}, {_LANE}, {ROW}"
        rows = f"SELECT *, {row} AS {ROW}, {lane_of(read)} AS {_LANE}"
        found = query(frame, lambda view: f"SELECT {by}, {', '.join(columns)} FROM ({rows} FROM {view}) GROUP BY {by}")
        found = found.rename_columns(["_judged" if name == FATE else name for name in found.column_names])
        self._book_all(read, found, frame, batch_id, result)
        good = found.filter(pc.equal(found["_judged"], Fate.OK.value))
        total = pc.sum(good[ROWS_COUNT]).as_py() or 0
        for index, stage in enumerate(filters):
            passed = pc.sum(good[f"_passed{index}"]).as_py() or 0
            book_filter(result.ledger, stage.name, total, passed)
        return _greatest_by_partition(found)

    def riding_sql(self, read: Read, frame: DataFrame, clock: Clock) -> list[str]:
        """What ``account_rows`` wants to know of each row, as columns."""
        behind = _behind(read, clock) if read.clock.late_rows == "warn" else None
        row = carried_row(tuple(frame.columns), f"{FATE} <> 0")
        time = "unix_micros(`_event_time`)"
        return [
            f"{FATE} AS _judged",
            f"{row} AS {ROW}",
            f"{lane_of(read)} AS {_LANE}",
            f"{time} AS {_TIME}",
            f"{behind or 'false'} AS _behind",
        ]

    def account_rows(
        self, read: Read, rows: pa.Table, frame: DataFrame, batch_id: int, result: BatchResult
    ) -> tuple[pa.Table, dict[int, int]]:
        """The same for rows that are in the driver already, with what ``riding_sql`` says: gives those that go on, and the maxima."""
        is_good = pc.equal(rows["_judged"], Fate.OK.value)
        by = ["_judged", _LANE, ROW]
        found = rows.select(list(RIDING)).group_by(by).aggregate([([], "count_all"), (_TIME, "max"), ("_behind", "sum")])
        found = found.rename_columns([*by, ROWS_COUNT, "_greatest", "_behind"])
        self._book_all(read, found, frame, batch_id, result)
        return rows.filter(is_good).drop_columns(list(RIDING)), _greatest_by_partition(found)

    def _book_all(self, read: Read, found: pa.Table, frame: DataFrame, batch_id: int, result: BatchResult) -> None:
        self.book_source(read.name, unpack_rows(found, frame.schema), batch_id, result)
        result.ledger.source(read.name).late_warned += pc.sum(found["_behind"]).as_py() or 0

    def book_source(self, name: str, fed: pa.Table, batch_id: int, result: BatchResult) -> None:
        """Count what a source brought, and keep what was set aside there. ``fed`` has _judged, _rows and _row."""
        read = self._reads[name]
        account = result.ledger.source(name)
        what = policies(read)
        for fate in SOURCE_FATES:
            rows = fed.filter(pc.equal(fed["_judged"], fate.value))
            count = pc.sum(rows[ROWS_COUNT]).as_py() or 0
            if not count:
                continue
            account.rows_in += count
            policy = what[fate]
            if policy == "fail":
                raise JobError(
                    fate.code,
                    f"source {name}: {fate.meaning} ({count} rows), and the policy for that is 'fail'",
                    "set the policy to 'dead_letter' to keep such rows aside and go on",
                )
            (account.dead if policy == "dead_letter" else account.dropped)[fate.code] += count
            if policy == "dead_letter":
                result.dead_letters.extend(_letters(fate, name, rows, batch_id))
        others = fed.filter(pc.invert(pc.is_in(fed["_judged"], pa.array([f.value for f in SOURCE_FATES], fed["_judged"].type))))
        good = pc.sum(others[ROWS_COUNT]).as_py() or 0
        account.rows_in += good
        account.passed += good

    def book_statement_fates(self, statement: str, source: str, fed: pa.Table, batch_id: int, result: BatchResult) -> None:
        """Rows that a statement itself could not place in time: its own event time is missing or far in the future."""
        account = result.ledger.statement(statement)
        for fate in (Fate.NO_EVENT_TIME, Fate.FUTURE):
            rows = fed.filter(pc.equal(fed["_judged"], fate.value))
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


def _behind(read: Read, clock: Clock) -> str | None:
    """SQL that is true for a sound row behind the watermark of its own partition; None while no partition has one."""
    if read.clock.granularity == "row":
        return f"({FATE} = 0 AND coalesce(unix_micros(_event_time) < {OWN_MARK} - {read.clock.delay}, false))"
    marks = {p: progress.greatest - read.clock.delay for p, progress in clock.partitions.items() if progress.greatest is not None}
    lane = lane_of(read)
    own = " OR ".join(f"({lane} = {p} AND unix_micros(_event_time) < {of_batch(f'{mark}L', lane)})" for p, mark in marks.items())
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
    still = pa.array([f.value for f in (Fate.UNDECODABLE, Fate.BAD_FIELD, Fate.NO_EVENT_TIME, Fate.FUTURE)], found["_judged"].type)
    moving = found.filter(pc.invert(pc.is_in(found["_judged"], still)))
    reached = moving.group_by(_LANE).aggregate([("_greatest", "max")]).to_pylist()
    return {row[_LANE]: row["_greatest_max"] for row in reached if row["_greatest_max"] is not None}
