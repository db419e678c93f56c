"""Windows as a Spark data source: which are safe now, and the rows of their files.

Spark runs these classes in Python workers of its own, which import this module.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow.connectors.otap.settings import LiveSettings
from windrow.connectors.otap.shape import to_batches
from windrow.otap.covers import Cover
from windrow.otap.layout import Base
from windrow.otap.links import reader_for
from windrow.otap.notes import Notes, ReadReport
from windrow.otap.receiver import Receiver, Wanted
from windrow.otap.windows import Reading
from windrow.storage import StorageError

FORMAT = "windrow_otap"
UNTIL = "until_ns"
# Late files are noticed so soon; windows that become safe at once.
_LOOK_EVERY = 2_000_000_000


class Share(InputPartition):
    """One cover, the end of its batch, and its place in it."""

    def __init__(self, end: int, place: int, cover: str) -> None:
        self.end = end
        self.place = place
        self.cover = cover


class OtapReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The offset is the end of the last window handed over, in nanoseconds; null before the first."""

    def __init__(self, live: LiveSettings, columns: pa.Schema, notes: str, is_ended: bool) -> None:
        self._live = live
        self._columns = columns
        self._notes = notes
        self._is_ended = is_ended
        self._receiver: Receiver | None = None
        self._now = live.current.now

    def initialOffset(self) -> dict[str, int | None]:  # noqa: N802 - Spark's name
        return {UNTIL: None}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What is safe when such a run starts is what it takes."""
        self._now = self._clock()

    def latestOffset(self, start: dict[str, int | None], limit: ReadLimit) -> dict[str, int | None]:  # noqa: N802, ARG002 - Spark's
        if self._live.refresh():
            self._receiver = None
        return {UNTIL: self._open().advance(start[UNTIL])}

    def partitions(self, start: dict[str, int | None], end: dict[str, int | None]) -> list[InputPartition]:
        until = end[UNTIL]
        if until is None:
            return []
        covers = self._open().plan(start[UNTIL], until)
        return [Share(until, place, json.dumps(cover.to_json())) for place, cover in enumerate(covers)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Share)
        cover = Cover.from_json(json.loads(partition.cover))
        wanted = frozenset(self._columns.names)
        chosen = self._live.current
        reader = reader_for(Base(chosen.path), Reading(chosen.table, chosen.rule, chosen.ids, wanted))
        rows = reader.read(cover)
        seen = reader.seen
        report = ReadReport(0 if rows is None else rows.num_rows, seen.bytes, seen.ambiguous, tuple(sorted(seen.missing)), seen.faults)
        # It is for people to look at, and nothing depends on it: a worker that cannot write to the state folder goes on.
        with suppress(OSError, StorageError):
            Notes(Path(self._notes)).save_report(partition.end, partition.place, report)
        if rows is not None:
            yield from to_batches(rows, cover, partition.place, self._columns)

    def _open(self) -> Receiver:
        if self._receiver is None:
            chosen = self._live.current
            wanted = Wanted(
                chosen.table, chosen.timing, chosen.rule, chosen.ids, chosen.start, chosen.windows_at_once, is_ended=self._is_ended
            )
            self._receiver = Receiver(Base(chosen.path), wanted, Notes(Path(self._notes)), self._clock, _LOOK_EVERY)
        return self._receiver

    def _clock(self) -> int:
        return time.time_ns() if self._now is None else self._now

    def __getstate__(self) -> dict[str, Any]:
        """Workers that read need no receiver."""
        return {**self.__dict__, "_receiver": None}


class OtapSource(DataSource):
    """The data source that Spark knows as ``windrow_otap``; options are those that ``runtime.py`` gives it."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return self._given["schema"]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's
        columns = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self._given["columns"])))
        settings = LiveSettings(json.loads(self._given["options"]))
        return OtapReader(settings, columns, self._given["notes"], self._given["ended"] == "true")
