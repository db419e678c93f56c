"""What a status says that Spark and the file system must be asked for: rows that wait to be read, memory of Java, files of the state.

Asked when somebody looks, and at most once in a few seconds: a scrape must not slow a job down.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.jobs.source_ends import SourceEnds
from windrow.jobs.source_status import offsets, with_backlogs
from windrow.observe.status import JavaUse, JobStatus
from windrow.spark.internals.java_process import JavaProcess
from windrow.spark.internals.jvm import heap_of
from windrow.storage import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KEPT_SECONDS = 2.0
NOTED_SECONDS = 1.0


@dataclass(frozen=True)
class _Seen:
    at: float
    sources: tuple[Mapping[str, Any], ...] = ()
    java: JavaUse | None = None
    state_file_bytes: int | None = None


class OutsideView:
    def __init__(self, spark: SparkSession, java: JavaProcess, state: Folder) -> None:
        self._spark = spark
        self._java = java
        self._state = state
        self._lock = threading.RLock()
        self._seen: _Seen | None = None
        self._ends: dict[int, SourceEnds] = {}
        self._looked = 0.0
        self._behind: dict[int, float] = {}

    def completed(self, status: JobStatus, query: StreamingQuery | None) -> JobStatus:
        with self._lock:
            if self._seen is None or time.monotonic() - self._seen.at >= KEPT_SECONDS:
                self._seen = self._look(query)
            seen = self._seen
        sources = with_backlogs(status.sources, seen.sources, self._behind)
        return replace(status, sources=sources, java=seen.java, state_file_bytes=seen.state_file_bytes)

    def after_batch(self, query: StreamingQuery | None) -> None:
        """Whether anybody looks or not: how old the rows are that are read now depends on where the end was before."""
        if time.monotonic() - self._looked >= NOTED_SECONDS:
            self._looked = time.monotonic()
            told = sources_told(query)
            with self._lock:
                self._note(told)

    def _note(self, told: tuple[Mapping[str, Any], ...]) -> None:
        for place, own in enumerate(told):
            read, end = offsets(own.get("endOffset")), offsets(own.get("latestOffset"))
            if read is not None and end is not None:
                self._behind[place] = self._ends.setdefault(place, SourceEnds()).look(time.monotonic(), read, end)

    def _look(self, query: StreamingQuery | None) -> _Seen:
        files = self._file_bytes()
        if self._java.has_ended():
            return _Seen(time.monotonic(), state_file_bytes=files)
        told = sources_told(query)
        self._note(told)
        return _Seen(time.monotonic(), told, self._java_use(), files)

    def _file_bytes(self) -> int | None:
        if not self._state.is_local:
            return None
        total = 0
        try:
            with os.scandir(self._state.path) as entries:
                for entry in entries:
                    total += entry.stat().st_size if entry.is_file() else 0
        except OSError:
            # A file that was let go between two looks, or a folder that is not there yet.
            return None
        return total

    def _java_use(self) -> JavaUse | None:
        try:
            used, most = heap_of(self._spark)
        except Exception:
            # Java is going away, which the job finds out by itself.
            return None
        pid = self._java.pid
        return JavaUse(used, most) if pid is None else JavaUse(used, most, *_process_use(pid))


def sources_told(query: StreamingQuery | None) -> tuple[Mapping[str, Any], ...]:
    try:
        progress = None if query is None else query.lastProgress
    except Exception:
        # The same.
        return ()
    if progress is None:
        return ()
    return tuple(
        {"endOffset": one.endOffset, "latestOffset": one.latestOffset, "metrics": dict(one.metrics or {})} for one in progress.sources
    )


def _process_use(pid: int) -> tuple[int | None, float | None]:
    """Bytes of memory and seconds of processor time, as Linux tells them of any process."""
    try:
        # The name of the program stands in parentheses and may have spaces.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks, pages = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None, None
    return int(fields[21]) * pages, (int(fields[11]) + int(fields[12])) / ticks
