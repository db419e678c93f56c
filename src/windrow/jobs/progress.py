"""Keeps a job's status up to date between batches, and lets a stop wait for the batch that is under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.model.fate import Fate
from windrow.observe.status import STARTING, JobStatus, TableLoad
from windrow.plan.stages import Aggregate
from windrow.resilience import system_states
from windrow.spark.batch import BatchResult
from windrow.spark.program import BatchProgram
from windrow.windowing.columns import FOREVER

if TYPE_CHECKING:
    from windrow.observe.ledger import Ledger


class Progress:
    def __init__(self, job: str) -> None:
        self._status = JobStatus(job, STARTING)
        self._lock = threading.Lock()
        self._held: Callable[[], int] = lambda: 0
        self._open: int | None = None
        self.state = STARTING
        self.error: str | None = None
        # Of the last batch, by statement.
        self.sink_seconds: dict[str, float] = {}
        self.stale_tables: Mapping[str, str] = {}

    def update(self, program: BatchProgram, result: BatchResult | None, seconds: float) -> None:
        ledger = program.state.ledger
        rows = result.ledger.rows_in if result is not None else 0
        watermark = _least_watermark(program)
        now = max((clock.now or 0 for clock in program.state.clocks.values()), default=0)
        status = JobStatus(
            job=program.job.name,
            state=self.state,
            batch_id=program.state.batch_id,
            rows_in=ledger.rows_in,
            rows_per_second=rows / seconds if seconds else 0.0,
            watermark=watermark,
            lag_seconds=None if watermark is None else max(0.0, (now - watermark) / 1e6),
            state_bytes=program.state.bytes_held + sum(one.bytes_held for one in program.homes.distributed.values()),
            late=_late(ledger),
            dead_letters=sum(ledger.dead_letters.values()),
            emitted=sum(account.emitted for account in ledger.statements.values()),
            batch_seconds=seconds,
            ledger=ledger,
        )
        with self._lock:
            self._status = status
            self._held = program.open_windows
            self._open = None

    def status(self) -> JobStatus:
        with self._lock:
            current = self._status
            # Counted when somebody looks, once a batch at most: at a million groups the count costs more than many a batch.
            if self._open is None:
                self._open = self._held()
            current = replace(current, open_windows=self._open)
        return replace(
            current,
            state=self.state,
            error=self.error,
            stale_tables=self.stale_tables,
            sink_seconds=dict(self.sink_seconds),
            systems=tuple(system_states()),
        )


class LoadWatch:
    """Tells how a table's load goes on: a source calls it with the rows so far, and once with how many there may be."""

    def __init__(self, table: str, tell: Callable[[TableLoad], None]) -> None:
        self._table = table
        self._tell = tell
        self._started = time.monotonic()
        self._total: int | None = None

    def __call__(self, rows: int, total: int | None) -> None:
        self._total = total if total is not None else self._total
        self._tell(TableLoad(self._table, rows, self._total, time.monotonic() - self._started))


def _least_watermark(program: BatchProgram) -> int | None:
    marks = [program.watermarks.of(stage, program.state.clocks) for stage in program.job.stages if isinstance(stage, Aggregate)]
    known = [mark for mark in marks if mark is not None and mark < FOREVER]
    return min(known) if known else None


def _late(ledger: Ledger) -> int:
    code = Fate.LATE.code
    return sum(a.dead[code] + a.dropped[code] + a.late_corrected + a.late_included for a in ledger.statements.values())
