"""The rows of a batch in the driver, and of several with one key the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.encoding import quoted, spark_json
from windrow.connectors.lake.fitting import storable
from windrow.connectors.marked_rows import GONE, PLACE, marked_batches
from windrow.connectors.runtime import Output

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NTH = "_windrow_nth"


@dataclass(frozen=True)
class BatchRows:
    """``rows`` are put into the table. With a key, each is there once, and ``gone`` has the keys of rows that are taken away."""

    rows: pa.Table
    gone: pa.Table | None = None

    @property
    def is_empty(self) -> bool:
        return self.rows.num_rows == 0 and (self.gone is None or self.gone.num_rows == 0)


def batch_rows(output: Output, key: Sequence[str]) -> BatchRows | None:
    """None where there are no rows, not even a schema."""
    batches = list(marked_batches(output, lambda frame: _cells(frame, output.columns), is_keyed=bool(key)))
    if not batches:
        return None
    rows = pa.Table.from_batches(batches)
    if not key:
        return BatchRows(storable(rows))
    spelled = {name.lower(): name for name in rows.column_names}
    names = [spelled[part.lower()] for part in key]
    last = _last_of_each(rows, names).drop_columns([PLACE])
    gone = last.filter(last[GONE]).select(names)
    return BatchRows(storable(last.filter(pc.invert(last[GONE])).drop_columns([GONE])), storable(gone))


def _last_of_each(rows: pa.Table, key: list[str]) -> pa.Table:
    keys = pl.from_arrow(rows.select([*key, PLACE]))
    assert isinstance(keys, pl.DataFrame)
    last = keys.with_row_index(_NTH).sort(PLACE, _NTH).unique(key, keep="last", maintain_order=True)[_NTH]
    return rows.take(pa.array(last.sort().to_list(), pa.int64()))


def _cells(frame: DataFrame, columns: tuple[str, ...]) -> list[Column]:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    spelling = spark_json(frame)

    def cell(name: str) -> Column:
        is_variant = isinstance(frame.schema[name].dataType, T.VariantType)
        return F.to_json(quoted(name), spelling).alias(name) if is_variant else quoted(name)

    return [cell(name) for name in columns]
