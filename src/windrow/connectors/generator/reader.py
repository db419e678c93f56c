"""Row indices as a Spark data source: which indices are due now, and the indices themselves.

Spark runs these classes in Python workers of its own, which import this module: it stays small.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, MutableMapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

FORMAT = "windrow_generator"
_ROWS_AT_ONCE = 32_768
# Below this a second task costs more than it brings.
_ROWS_PER_TASK = 20_000


class Indices(InputPartition):
    """Rows ``[start, end)``."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class IndexReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Hands out indices at the asked rate, counted from where this run began: a restart goes on and does not catch up.

    A bounded run takes the rows as fast as they can be made, since it ends when there is nothing new.
    """

    def __init__(
        self,
        rows_per_second: Fraction | None,
        rows: int | None,
        rows_per_batch: int,
        tasks: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rows_per_second = rows_per_second
        self._rows = rows
        self._rows_per_batch = rows_per_batch
        self._tasks = tasks
        self._now = now
        self._began: tuple[float, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"row": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._rows_per_second = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._rows_per_batch)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        first = start["row"]
        end = first + (limit.max_rows if isinstance(limit, ReadMaxRows) else self._rows_per_batch)
        if self._rows_per_second is not None:
            if self._began is None:
                self._began = (self._now(), first)
            at, row = self._began
            # The first row of a run is due at once.
            end = min(end, max(first, row + 1 + int((self._now() - at) * self._rows_per_second)))
        if self._rows is not None:
            end = max(first, min(end, self._rows))
        return {"row": end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        first, last = start["row"], end["row"]
        tasks = max(1, min(self._tasks, (last - first) // _ROWS_PER_TASK))
        cuts = [first + (last - first) * task // tasks for task in range(tasks + 1)]
        return [Indices(a, b) for a, b in pairwise(cuts) if a < b]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Indices)
        schema = pa.schema([("index", pa.int64())])
        for start in range(partition.start, partition.end, _ROWS_AT_ONCE):
            indices = array("q", range(start, min(start + _ROWS_AT_ONCE, partition.end)))
            column = pa.Array.from_buffers(pa.int64(), len(indices), [None, pa.py_buffer(indices)])
            yield pa.RecordBatch.from_arrays([column], schema=schema)


class IndexSource(DataSource):
    """The data source that Spark knows as ``windrow_generator``; options are those that ``runtime.py`` gives it."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "index BIGINT"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's
        def take(key: str, read: Callable[[str], Any]) -> Any:
            text = self._given.get(key)
            return read(text) if text else None

        return IndexReader(take("rate", Fraction), take("rows", int), int(self._given["batch"]), int(self._given["tasks"]))
