"""Makes the record of each committed batch from what the executor knows of it anyway; nothing is counted by a Spark job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from windrow.model.fate import Fate
from windrow.observe.batch_record import (
    BatchRecord,
    OperatorRecord,
    PartitionRecord,
    SourceRecord,
    StatementRecord,
    TableRecord,
    rounded_lateness,
)
from windrow.observe.ledger import Account
from windrow.plan.physical import OperatorSpec
from windrow.plan.stages import Aggregate, LoadTable, Read
from windrow.spark.execution.batch import BatchResult, WindowActivity
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.spark.execution.executor import BatchExecutor
from windrow.spark.execution.late_row_counts import by_name
from windrow.spark.execution.measurements import OperatorMeasurement
from windrow.windowing.clock import Clock
from windrow.windowing.columns import END, FINAL, FOREVER, LATE

# Counting windows costs time where there are many; so does writing down partitions.
MOST_ROWS_COUNTED = 20_000
MOST_PARTITIONS = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BatchRecorder:
    """Remembers of the batch before what the next one is compared with. Asked once a batch, after its commit."""

    def __init__(self, executor: BatchExecutor) -> None:
        self._executor = executor
        self._clocks: Mapping[str, Clock] = dict(executor.state.clocks)
        self._open: dict[str, int | None] = {}

    def record(self, result: BatchResult, partitions: Mapping[str, Mapping[int, int]], arrival: int) -> BatchRecord:
        """``partitions`` are rows by source and partition as the source itself tells them, for those that were not counted."""
        executor = self._executor
        counted = {**partitions, **result.partitions}
        late = [letter for letter in result.dead_letters if letter.fate in (Fate.LATE, Fate.LATE_AT_SOURCE)]
        sources = {read.name: self._source(read, counted.get(read.name), result) for read in executor.job.reads}
        aggregates = [stage for stage in executor.job.stages if isinstance(stage, Aggregate)]
        statements = {stage.name: self._statement(stage, result) for stage in aggregates}
        for name, by in by_name(self._late_by(late), result.late.dropped, self._dropped_at_source(result)).items():
            statements[name] = replace(statements.get(name, StatementRecord()), late_by=by)
        for name, by in by_name(result.late.corrected).items():
            statements[name] = replace(statements.get(name, StatementRecord()), corrected_by=by)
        record = BatchRecord(
            batch_id=result.batch_id,
            arrival=arrival,
            seconds=result.measured.seconds,
            phases={name: seconds for name, seconds in result.measured.phases.items() if seconds},
            operators=tuple(self._operator(spec, result) for spec in executor.plan),
            sources=sources,
            statements=statements,
            tables={stage.name: self._table(stage) for stage in executor.job.tables},
        )
        self._clocks = dict(executor.state.clocks)
        return record

    def _operator(self, spec: OperatorSpec, result: BatchResult) -> OperatorRecord:
        measured = result.measured.operators.get(spec.name, OperatorMeasurement())
        account = _account_of(spec, result)
        held = self._executor.size_of(spec.name)
        is_here = self._executor.state.counters.buckets(spec.name) is None
        record = OperatorRecord(
            name=spec.name,
            kind=spec.kind,
            rows_in=measured.rows_in,
            rows_out=measured.rows_out,
            bytes_out=measured.bytes_out,
            passed=measured.rows_in,
            seconds=measured.seconds,
            strategies=tuple(str(choice.strategy) for choice in spec.distinct),
            rows_held=held.rows,
            bytes_held=held.bytes,
            home="driver" if is_here else "executors",
        )
        return record if account is None else _with_account(record, account)

    def _source(self, read: Read, rows: Mapping[int, int] | None, result: BatchResult) -> SourceRecord:
        clock, before = self._executor.state.clocks.get(read.name), self._clocks.get(read.name)
        if clock is None:
            return SourceRecord(delay=read.clock.delay, idle_timeout=read.clock.idle_timeout)
        if rows is None and len(clock.partitions) == 1:
            account = result.ledger.sources.get(read.name)
            rows = {next(iter(clock.partitions)): 0 if account is None else account.rows_in}
        known = sorted(clock.partitions.items(), key=lambda one: (one[1].greatest is not None, one[1].greatest or 0))
        kept = {
            number: PartitionRecord(one.greatest, one.seen_at, None if rows is None else rows.get(number, 0))
            for number, one in sorted(known[:MOST_PARTITIONS])
        }
        return SourceRecord(
            partitions=kept,
            before=None if before is None else _known(before.watermark(read.clock.delay)),
            after=_known(clock.watermark(read.clock.delay)),
            delay=read.clock.delay,
            idle_timeout=read.clock.idle_timeout,
            idle=clock.idle(read.clock.idle_timeout)[:MOST_PARTITIONS],
            left_out=max(0, len(known) - MOST_PARTITIONS),
            is_ended=clock.is_ended,
        )

    def _statement(self, stage: Aggregate, result: BatchResult) -> StatementRecord:
        activity = result.windows.get(stage.name, WindowActivity())
        assert result.change is not None
        given = result.change.steps.get(stage.name)
        before, after = (None, None) if given is None else (given.tick.before, given.tick.after)
        closed = activity.before_having.get(FINAL, 0) if stage.emit_policy.on_close else None
        is_open, kept = self._windows(stage, after)
        was_open = self._open.get(stage.name, 0 if result.batch_id == 0 else None)
        self._open[stage.name] = is_open
        opened = None if is_open is None or was_open is None or closed is None else is_open - was_open + closed
        return StatementRecord(
            before=_known(before),
            after=_known(after),
            lateness=stage.lateness,
            opened=opened,
            closed=closed,
            corrected=activity.before_having.get(LATE, 0),
            open=is_open,
            kept=kept,
            emissions=activity.emitted,
        )

    def _windows(self, stage: Aggregate, watermark: int | None) -> tuple[int | None, int | None]:
        """Windows that are open, and those that are only kept for late rows; not known where counting them takes too long."""
        executor = self._executor
        tables = executor.state.tables.get(stage.name, {})
        if executor.state.counters.buckets(stage.name) is not None or sum(table.height for table in tables.values()) > MOST_ROWS_COUNTED:
            return None, None
        windows = executor.steps[stage.name].open_windows(tables)
        if windows is None:
            return 0, 0
        is_open = windows.height if watermark is None else int((windows[END] > watermark).sum())
        return is_open, windows.height - is_open

    def _dropped_at_source(self, result: BatchResult) -> dict[str, Counter[int]]:
        delays = {read.name: read.clock.delay for read in self._executor.job.reads}
        return {name: result.late.behind(name, self._clocks[name], delays[name]) for name in result.late.at_source if name in self._clocks}

    def _late_by(self, letters: list[DeadLetter]) -> dict[str, Counter[int]]:
        """Late rows by statement, or by source where that was the judge, and by how much they were late."""
        found: dict[str, Counter[int]] = {}
        for letter in letters:
            by = letter.late.late_by if letter.late is not None else self._behind_partition(letter.source, letter.row)
            if by is not None:
                found.setdefault(letter.statement or letter.source, Counter())[rounded_lateness(by)] += 1
        return found

    def _behind_partition(self, source: str, row: Mapping[str, Any]) -> int | None:
        """By how much a row was behind the watermark of its own partition, as the batch found it."""
        clock, time = self._clocks.get(source), row.get("_event_time")
        progress = None if clock is None else clock.partitions.get(row.get("_partition") or 0)
        if progress is None or progress.greatest is None or time is None:
            return None
        read = next(read for read in self._executor.job.reads if read.name == source)
        return max(0, progress.greatest - read.clock.delay - _micros(time))

    def _table(self, stage: LoadTable) -> TableRecord:
        held = self._executor.tables.held(stage.name)
        return TableRecord(None if held is None else held.num_rows)


def _account_of(spec: OperatorSpec, result: BatchResult) -> Account | None:
    by = result.ledger.sources if isinstance(spec.stage, Read | LoadTable) else result.ledger.statements
    return by.get(spec.name)


def _with_account(record: OperatorRecord, account: Account) -> OperatorRecord:
    return replace(
        record,
        rows_in=account.rows_in,
        passed=account.passed,
        filtered=account.filtered,
        dead=dict(account.dead),
        dropped=dict(account.dropped),
        late_corrected=account.late_corrected,
        late_included=account.late_included,
        late_warned=account.late_warned,
        refused=account.refused,
    )


def _known(watermark: int | None) -> int | None:
    """A watermark that is a time: that of an input that is over is none."""
    return None if watermark is None or abs(watermark) >= FOREVER else watermark


def _micros(time: datetime) -> int:
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
