"""The rows of a batch for targets that replace rows by key: each with its place in the order, and whether it takes an earlier one back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import EMISSION, RETRACT, SEQ, Output
from windrow.connectors.streaming import arrow_batches

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Names of the two columns that rows have beside those of the target.
PLACE, GONE = "_windrow_place", "_windrow_gone"
_ROWS_AT_ONCE = 20_000


class RowsFailedError(Exception):
    """The rows could not be computed: the fault is not the target's. The cause says why."""


class RetractedError(Exception):
    """A row is to be taken back, and there is no key by which it could be found."""


def marked_batches(output: Output, cells: Callable[[DataFrame], list[Column]], *, is_keyed: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, visible columns first. With a key, each also has its place in the order and whether it is a retraction.

    ``cells`` are the visible columns of a frame, as they are to be handed over.
    """
    if output.table is not None:
        batches: Iterable[pa.RecordBatch] = _marked(output.table, output.columns).to_batches(_ROWS_AT_ONCE)
    elif output.frame is not None:
        batches = _computed(_marked_frame(output.frame, cells(output.frame), is_keyed))
    else:
        batches = ()
    first = 0
    for batch in batches:
        yield _with_place(batch, first) if is_keyed else _without_marks(batch)
        first += batch.num_rows


def _marked(table: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    rows = table.select(list(columns))
    gone = pc.fill_null(pc.equal(table[EMISSION], RETRACT), False) if EMISSION in table.column_names else pa.repeat(False, table.num_rows)
    return rows.append_column(GONE, gone)


def _marked_frame(frame: DataFrame, cells: list[Column], is_keyed: bool) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    gone = F.coalesce(F.col(EMISSION) == RETRACT, F.lit(False)) if EMISSION in frame.columns else F.lit(False)
    marks = [gone.alias(GONE)]
    if is_keyed and SEQ in frame.columns:
        if isinstance(frame.schema[SEQ].dataType, T.NumericType):
            marks.append(F.col(SEQ).cast("decimal(38,0)").alias(PLACE))
        else:
            frame = frame.sort(SEQ)
    return frame.select(*cells, *marks)


def _computed(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    try:
        yield from arrow_batches(frame, _ROWS_AT_ONCE)
    except GeneratorExit:
        raise
    except Exception as error:
        raise RowsFailedError from error


def _without_marks(batch: pa.RecordBatch) -> pa.RecordBatch:
    if pc.any(batch[GONE]).as_py():
        raise RetractedError
    return batch.drop_columns([GONE])


def _with_place(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
    """Rows are numbered as they come, where they do not say themselves in which order they belong."""
    if PLACE in batch.schema.names:
        return batch
    return batch.append_column(PLACE, pa.array(range(first, first + batch.num_rows), pa.int64()))
