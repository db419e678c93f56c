"""A table that only grows, as a Spark data source: rows by their number, each batch from one number to another.

Spark runs this in Python workers of its own, which import this module.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, MutableMapping
from contextlib import closing
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow_sqlite.connector import quoted

FORMAT = "windrow_sqlite"


class Rows(InputPartition):
    """Rows after ``start``, up to ``end``."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class TableReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, path: str, table: str, names: list[str]) -> None:
        self._path, self._table, self._names = path, table, names
        # A run that is to end takes what is there when it starts.
        self._last: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"row": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._greatest()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"row": max(start["row"], self._greatest() if self._last is None else self._last)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [Rows(start["row"], end["row"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, Rows)
        names = ", ".join(map(quoted, self._names))
        text = f"SELECT {names}, rowid, rowid FROM {quoted(self._table)} WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
        with closing(sqlite3.connect(self._path)) as database:
            yield from database.execute(text, (partition.start, partition.end))

    def _greatest(self) -> int:
        with closing(sqlite3.connect(self._path)) as database:
            [greatest] = database.execute(f"SELECT MAX(rowid) FROM {quoted(self._table)}").fetchone()
        return 0 if greatest is None else int(greatest)


class TableStream(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return self._given["schema"]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        # The last two are the number of the row, twice.
        return TableReader(self._given["path"], self._given["table"], schema.names[:-2])
