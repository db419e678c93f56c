"""SQL of the user's own over single windows of telemetry: each window by itself, so that one that fails does not stop the next."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.connectors.otap.shape import arrow_type, to_batches
from windrow.errors import UsageError
from windrow.otap.columns import PART_ID, TABLES, columns_of
from windrow.otap.covers import Cover, Covering
from windrow.otap.discovery import DataFile, Discovery
from windrow.otap.layout import Base
from windrow.otap.links import reader_for
from windrow.otap.origins import ResourceIds
from windrow.otap.tables import timed_by
from windrow.otap.timing import Timing, Window, busy_windows
from windrow.otap.windows import Reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BAD_QUERY = "WR886"
DONE, CACHED, FAILED = "done", "cached", "failed"
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_WORDS = re.compile(r"\w+")
_IDS = ("id", "parent_id")

Views = dict[str, pa.Table]
Execute = Callable[[str, Views, Mapping[str, Any]], pa.Table]


@dataclass(frozen=True)
class WindowQuery:
    """``{window_start_ns}`` and ``{window_end_ns}`` in ``sql`` are the bounds of a window, ``:name`` is a value of ``parameters``."""

    sql: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[str, ...]:
        """
        >>> WindowQuery("SELECT * FROM spans JOIN logs USING (trace_id)").tables
        ('logs', 'spans')
        """
        words = {word.lower() for word in _WORDS.findall(self.sql)}
        return tuple(table for table in TABLES if table in words)

    def text(self, window: Window) -> str:
        """
        >>> WindowQuery("SELECT {window_end_ns} - {window_start_ns}, regexp_count(a, 'x{2}')").text(Window(10, 30))
        "SELECT 30 - 10, regexp_count(a, 'x{2}')"
        """
        known = {"window_start_ns": window.start, "window_end_ns": window.end}

        def fill(match: re.Match[str]) -> str:
            if match[1] not in known:
                names = " and ".join(f"{{{name}}}" for name in known)
                raise UsageError(BAD_QUERY, f"a query has no {match[0]}", f"there are {names}; values of your own are :{match[1]}")
            return str(known[match[1]])

        return _PLACEHOLDER.sub(fill, self.sql)


def default_query(table: str, filters: tuple[str, ...]) -> str:
    """All rows of a table that meet every filter.

    >>> default_query("logs", ("severity_number >= 17",))
    'SELECT * FROM logs WHERE (severity_number >= 17) ORDER BY _part_id, time'
    """
    conditions = " AND ".join(f"({one})" for one in filters)
    return f"SELECT * FROM {table}{f' WHERE {conditions}' if conditions else ''} ORDER BY {PART_ID}, time"


@dataclass(frozen=True)
class WindowResult:
    """``rows`` is None where the window failed, and ``reason`` says why."""

    window: Window
    state: str
    rows: pa.Table | None
    seconds: float
    reason: str | None = None


class WindowTables:
    """The rows of a folder's tables, window by window."""

    def __init__(self, base: Base, discovery: Discovery, timing: Timing, tables: tuple[str, ...], ids: ResourceIds) -> None:
        self._base = base
        self._timing = timing
        self._ids: ResourceIds = ids
        self._files: dict[str, list[DataFile]] = {table: discovery.timed_files(timed_by(table)) for table in tables}
        self._covering = {table: Covering(discovery, table, ids) for table in tables}
        self._sizes = {file.path: file.listed.size for files in self._files.values() for file in files}

    @property
    def earliest(self) -> int:
        return min((times[0] for times in self._ranges()), default=0)

    @property
    def left_out(self) -> dict[str, str]:
        return {file.path: file.fault for files in self._files.values() for file in files if file.fault is not None}

    def windows(self, bounds: Window) -> Iterator[Window]:
        return busy_windows(self._timing, bounds.start, bounds.end, self._ranges())

    def covers(self, window: Window) -> dict[str, list[Cover]]:
        return {table: self._covering[table].covers(files, window) for table, files in self._files.items()}

    def fingerprint(self, covers: Mapping[str, list[Cover]]) -> Any:
        return [[cover.to_json(), [self._sizes[path] for path, *_ in cover.files]] for own in covers.values() for cover in own]

    def read(self, covers: Mapping[str, list[Cover]]) -> Views:
        return {table: self._read(table, own) for table, own in covers.items()}

    def _read(self, table: str, covers: list[Cover]) -> pa.Table:
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns_of({"table": table})])
        parts = []
        for place, cover in enumerate(covers):
            rows = reader_for(self._base, Reading(table, ids=self._ids)).read(cover)
            if rows is not None:
                parts += [batch.select(schema.names) for batch in to_batches(rows, cover, place, schema)]
        return pa.Table.from_batches([pa.RecordBatch.from_arrays(part.columns, schema=schema) for part in parts], schema)

    def _ranges(self) -> list[tuple[int, int]]:
        return [file.times for files in self._files.values() for file in files if file.times is not None]


def run_query(
    query: WindowQuery,
    tables: WindowTables,
    bounds: Window,
    execute: Execute,
    cache: Path | None = None,
    *,
    across_partitions: bool = False,
) -> Iterator[WindowResult]:
    """The query over every window with data, in order. A window that fails is reported like the others.

    ``across_partitions``: rows may be of several partitions at once, so they need not name theirs unless they have ids.
    """
    query.text(bounds)
    for window in tables.windows(bounds):
        begun = time.monotonic()
        state, rows, reason = FAILED, None, None
        try:
            found = _run_window(query, tables, window, execute, cache)
            _check_parts(found[1], across_partitions)
            state, rows = found
        except UsageError:
            raise
        except Exception as error:
            reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        yield WindowResult(window, state, rows, time.monotonic() - begun, reason)


def _run_window(query: WindowQuery, tables: WindowTables, window: Window, execute: Execute, cache: Path | None) -> tuple[str, pa.Table]:
    covers = tables.covers(window)
    kept = None
    if cache is not None:
        what = [query.text(window), sorted(query.parameters.items()), tables.fingerprint(covers)]
        kept = cache / f"{hashlib.sha256(json.dumps(what, default=str).encode()).hexdigest()}.parquet"
        # A result that cannot be read is computed again.
        with suppress(OSError, pa.ArrowException):
            return CACHED, pq.read_table(kept)
    rows = execute(query.text(window), tables.read(covers), query.parameters)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(".tmp")
        pq.write_table(rows, temporary)
        temporary.replace(kept)
    return DONE, rows


def _check_parts(rows: pa.Table, across_partitions: bool) -> None:
    if PART_ID in rows.column_names:
        return
    if any(name in rows.column_names for name in _IDS):
        raise ValueError(f"Query results must include {PART_ID} column: an id means something in its partition only")
    if not across_partitions:
        raise ValueError(f"Query results must include {PART_ID} column; for results over all partitions, use --across-partitions")


class SparkQueries:
    """Runs queries over views with Spark; one that takes longer than ``seconds`` is cancelled."""

    def __init__(self, spark: SparkSession, seconds: float) -> None:
        self._spark = spark
        self._seconds = seconds
        self._turn = 0

    def __call__(self, sql: str, views: Views, parameters: Mapping[str, Any]) -> pa.Table:
        self._turn += 1
        group, context = f"windrow-window-{id(self)}-{self._turn}", self._spark.sparkContext
        is_over = threading.Event()

        def cancel() -> None:
            # A job may start after it was cancelled, while the query is still planned: until the end nothing of it goes on.
            is_late.set()
            while not is_over.wait(0.2):
                context.cancelJobGroup(group)

        is_late = threading.Event()
        timer = threading.Timer(self._seconds, cancel)
        timer.daemon = True
        timer.start()
        context.setJobGroup(group, "a window", interruptOnCancel=True)
        try:
            for name, rows in views.items():
                self._spark.createDataFrame(rows).createOrReplaceTempView(name)
            return self._spark.sql(sql, dict(parameters)).toArrow()
        except Exception as error:
            if is_late.is_set():
                raise TimeoutError(f"the query took longer than {self._seconds:g} s") from error
            raise
        finally:
            is_over.set()
            timer.cancel()
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None takes it away
