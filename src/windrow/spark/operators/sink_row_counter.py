"""The accounts of a source, taken from its rows while the sink of its only statement reads them: no second reading for the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.streaming import arrow_batches
from windrow.spark.row_columns import BEHIND, FATE, GREATEST, PASSED, ROW, ROWS_COUNT, SOURCE_PARTITION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BY = [FATE, SOURCE_PARTITION, ROW]
# What is kept of some rows, and of what was kept of them: counts are sums of ones.
_SUMS = [(ROWS_COUNT, "sum"), (GREATEST, "max"), (BEHIND, "sum"), (PASSED, "sum")]

_NOTHING = pa.schema(
    [(FATE, pa.int8()), (SOURCE_PARTITION, pa.int32()), (ROW, pa.string()), *((name, pa.int64()) for name, _ in _SUMS)],
).empty_table()


class SinkRowCounter:
    """``found`` is what the ledger takes, as soon as all rows were counted."""

    columns = (*_BY, GREATEST, BEHIND, PASSED)
    passed = PASSED

    def __init__(self, frame: DataFrame, check: Callable[[pa.Table], None]) -> None:
        self._frame = frame
        self._check = check
        self._parts: list[pa.Table] = []
        self.found: pa.Table | None = None

    def begin(self) -> None:
        self._parts = []
        self.found = None

    def take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        passed = batch[PASSED]
        counted = [batch[name] for name in (*_BY, GREATEST)]
        ones = [pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows), batch[BEHIND].cast(pa.int64()), passed.cast(pa.int64())]
        self._parts.append(_sums(pa.table([*counted, *ones], names=[*_BY, GREATEST, ROWS_COUNT, BEHIND, PASSED])))
        rows = batch.drop_columns(list(self.columns))
        return rows if pc.all(passed).as_py() else rows.filter(passed)

    def close(self) -> None:
        found = _sums(pa.concat_tables(self._parts)) if self._parts else _NOTHING
        self._check(found)
        self.found = found

    def read_alone(self) -> None:
        """For a sink that had no need to read: it finds that the batch was written before."""
        self.begin()
        for batch in arrow_batches(self._frame.select(*self.columns)):
            self.take(batch)
        self.close()


def _sums(rows: pa.Table) -> pa.Table:
    found = rows.group_by(_BY, use_threads=False).aggregate(_SUMS)
    return found.rename_columns([next((name for name, how in _SUMS if column == f"{name}_{how}"), column) for column in found.column_names])
