"""The status of a job as numbers of its instruments."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from windrow.model.fate import Fate
from windrow.observe import instruments as of
from windrow.observe.distribution import Distribution
from windrow.observe.instruments import INSTRUMENTS, MOST_PARTITIONS, Instrument
from windrow.observe.ledger import Account, Ledger
from windrow.observe.row_metrics import exposed_name, series_json
from windrow.observe.status import ENDED, EXECUTORS, FAILED, RUNNING, STARTING, STOPPED, WAITING, JobStatus, SourceStatus
from windrow.resilience import CLOSED

STATES = (STARTING, RUNNING, WAITING, STOPPED, ENDED, FAILED)


@dataclass(frozen=True)
class Sample:
    """``labels`` are in the order of the instrument's."""

    instrument: Instrument
    labels: tuple[str, ...]
    value: float | Distribution


def samples_of(status: JobStatus, now: float | None = None) -> Iterator[Sample]:
    """``now`` is in seconds since the epoch."""
    at = time.time() if now is None else now
    for instrument, labels, value in _numbers(status, at):
        if value is not None:
            yield Sample(instrument, (status.job, *labels), value)
    for own in status.distributions:
        yield Sample(INSTRUMENTS[own.instrument], (status.job, *own.labels), own.values)


def metrics_json(statuses: Sequence[JobStatus]) -> dict[str, list[dict[str, Any]]]:
    """Every metric of jobs by its name, those of annotations among them: a number for each series, or sum, count and buckets."""
    found: dict[str, list[dict[str, Any]]] = {}
    for sample in (sample for status in statuses for sample in samples_of(status)):
        labels = dict(zip(sample.instrument.all_labels, sample.labels, strict=True))
        value = sample.value
        told = {"count": value.count, "sum": value.total, "buckets": dict(value.cumulative)} if isinstance(value, Distribution) else value
        found.setdefault(sample.instrument.full_name, []).append({"labels": labels, "value": told})
    for status in statuses:
        for name, total in status.metrics.items():
            found.setdefault(exposed_name(name, total.type), []).extend(series_json(total, {of.JOB: status.job}))
    return found


Number = tuple[Instrument, tuple[str, ...], float | None]


def _numbers(status: JobStatus, now: float) -> Iterator[Number]:
    yield from _job(status, now)
    yield from _rows(status.ledger)
    yield from _batches(status, now)
    yield from _event_time(status)
    yield from _state(status)
    yield from _outside(status)


def _job(status: JobStatus, now: float) -> Iterator[Number]:
    about = status.about
    yield of.BUILD_INFO, (version("windrow"), about.spark, platform.python_version()), 1
    yield of.JOB_INFO, (about.pipeline, about.version, about.environment), 1
    yield of.RESTARTS, (), about.starts - 1
    yield from ((of.JOB_STATE, (state,), float(state == status.state)) for state in STATES)
    yield of.STARTED, (), status.started_at
    yield of.UPTIME, (), None if status.started_at is None else (status.ended_at or now) - status.started_at
    yield of.LAST_COMMIT, (), status.committed_at
    yield of.BALANCED, (), float(status.ledger.is_balanced)
    yield from ((of.ERRORS, labels, count) for labels, count in status.counts.errors.items())


def _rows(ledger: Ledger) -> Iterator[Number]:
    for name, account in ledger.sources.items():
        yield of.ROWS_IN, (name,), account.rows_in
        yield of.ROWS_PASSED, (name,), account.passed
        yield of.LATE, (name, "noticed"), account.late_warned
        yield of.UNREAD, (name,), account.unread_files
        yield from _set_aside(name, account, Fate.LATE_AT_SOURCE.code)
    for name, account in ledger.statements.items():
        yield of.STATEMENT_IN, (name,), account.rows_in
        yield of.STATEMENT_PASSED, (name,), account.passed
        yield of.FILTERED, (name,), account.filtered
        yield from ((of.EMITTED, (name, kind), count) for kind, count in _emitted(account).items())
        yield of.REFUSED, (name,), account.refused
        yield of.LATE, (name, "corrected"), account.late_corrected
        yield of.LATE, (name, "included"), account.late_included
        yield of.VIOLATIONS, (name,), account.ever_dead[Fate.LATE.code] + account.dropped[Fate.LATE.code]
        yield from _set_aside(name, account, Fate.LATE.code)


def _emitted(account: Account) -> dict[str, int]:
    """Rows that were put out, by kind; under an empty name those that have none, or are of before kinds were counted.

    >>> from collections import Counter
    >>> _emitted(Account(emitted=5, emissions=Counter(final=3, late=1)))
    {'final': 3, 'late': 1, '': 1}
    """
    rest = account.emitted - account.emissions.total()
    return {**account.emissions, **({"": rest} if rest or not account.emissions else {})}


def _set_aside(name: str, account: Account, late: str) -> Iterator[Number]:
    """Gross: what came once more stays counted, or a counter would fall."""
    dead = account.ever_dead
    yield of.LATE, (name, "dead"), dead[late]
    yield of.LATE, (name, "dropped"), account.dropped[late]
    yield from ((of.DEAD, (name, code), count) for code, count in sorted(dead.items()))
    yield from ((of.REPLAYED, (name, code), count) for code, count in sorted(account.replayed.items()))
    yield from ((of.DROPPED, (name, code), count) for code, count in sorted(account.dropped.items()))


def _batches(status: JobStatus, now: float) -> Iterator[Number]:
    yield of.BATCHES, (), status.counts.batches
    yield of.RETRIES, (), status.counts.retries
    yield of.BATCH_RUNNING, (), 0.0 if status.batch_since is None else max(0.0, now - status.batch_since)
    for operator in status.operators:
        yield of.OPERATOR_SECONDS, (operator.name,), operator.total_seconds
        yield of.OPERATOR_IN, (operator.name,), operator.total_rows_in
        yield of.OPERATOR_OUT, (operator.name,), operator.total_rows_out


def _event_time(status: JobStatus) -> Iterator[Number]:
    yield of.JOB_LAG, (), status.lag_seconds
    yield of.ADVANCED, (), status.counts.watermark_advanced
    for source in status.sources:
        yield from _source(source)


def _source(source: SourceStatus) -> Iterator[Number]:
    arrived, newest = source.arrived_at, source.newest
    # Those that are furthest behind: they are what somebody looks for where there are too many.
    known = sorted((one for one in source.partitions if one.watermark is not None), key=lambda one: one.watermark or 0)
    for one in known[:MOST_PARTITIONS]:
        lag = None if arrived is None or one.watermark is None else max(0.0, (arrived - one.watermark) / 1e6)
        yield of.LAG, (source.source, str(one.partition)), lag
    yield of.IDLE, (source.source,), sum(one.is_idle for one in source.partitions)
    yield of.SOURCE_LAG, (source.source,), None if arrived is None or newest is None else max(0.0, (arrived - newest) / 1e6)
    yield of.BACKLOG_FILES, (source.source,), source.backlog_files
    yield of.BEHIND, (source.source,), source.behind_seconds
    yield of.BATCH_LIMIT, (source.source,), source.batch_limit
    yield from ((of.BACKLOG, (source.source, name), rows) for name, rows in _largest(source.backlog or {}))


def _largest(backlog: Mapping[str, int]) -> list[tuple[str, int]]:
    """The partitions with most rows to read, and all others as one.

    >>> _largest({str(number): 1 for number in range(MOST_PARTITIONS + 5)})[-1]
    ('other', 5)
    """
    ordered = sorted(backlog.items(), key=lambda one: (-one[1], one[0]))
    rest = ordered[MOST_PARTITIONS:]
    return ordered[:MOST_PARTITIONS] + ([("other", sum(rows for _, rows in rest))] if rest else [])


def _state(status: JobStatus) -> Iterator[Number]:
    for own in status.window_totals:
        yield of.CREATED, (own.statement,), own.created
        yield of.COMPLETED, (own.statement,), own.completed
        yield of.PRUNED, (own.statement,), own.pruned
    for operator in status.operators:
        held = operator.state
        if held.rows or held.windows or held.bytes:
            yield of.OPEN, (operator.name,), held.windows
            yield of.WINDOW_BYTES, (operator.name,), held.bytes / held.windows if held.windows else None
            yield of.WARM if held.home == EXECUTORS else of.HOT, (operator.name,), held.bytes
    groups = max((operator.state.windows for operator in status.operators), default=0)
    used = {"state.max_bytes": status.state_bytes, "state.max_groups": groups}
    yield from ((of.LIMIT_USED, (name,), used.get(name, 0) / limit) for name, limit in status.limits.items())
    yield of.COLD, (), status.state_file_bytes
    yield of.HISTORY, (), status.history_bytes
    yield of.EVICTIONS, (), status.counts.evicted


def _outside(status: JobStatus) -> Iterator[Number]:
    if status.counts.traced_rows:
        yield of.TRACED_ROWS, (), status.counts.traced_rows
        yield of.WITH_CONTEXT, (), status.counts.with_context
    yield from ((of.SINK_ERRORS, labels, count) for labels, count in status.counts.sink_errors.items())
    for system in status.systems:
        yield of.BREAKER, (system.system,), float(system.state != CLOSED)
        yield of.SYSTEM_RETRIES, (system.system,), system.retries
    for table in status.tables:
        yield of.TABLE_ROWS, (table.table,), table.rows
        share = 1.0 if table.is_done else None if not table.total else min(1.0, table.rows / table.total)
        yield of.TABLE_PROGRESS, (table.table,), share
        yield of.TABLE_STALE, (table.table,), float(table.table in status.stale_tables)
    if status.java is not None:
        yield of.HEAP, (), status.java.heap_bytes
        yield of.HEAP_MAX, (), status.java.heap_max_bytes
        yield of.JVM_RESIDENT, (), status.java.resident_bytes
        yield of.JVM_CPU, (), status.java.cpu_seconds
