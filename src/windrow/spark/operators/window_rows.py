"""The rows that windows hold, taken out of what the windows put out: each with the bounds of its window."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ
from windrow.model.system import ROW_COLUMNS
from windrow.model.window_kinds import FixedKind
from windrow.plan.physical.strategies import RowHandling
from windrow.plan.selects import ROW_TIME, WINDOW_ROWS
from windrow.plan.stages import WindowRows
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.base import Operator
from windrow.spark.query.flow import Flow
from windrow.spark.row_columns import PLACE
from windrow.windowing.columns import EMISSION, END, LATE, REVISION, START

_ROW_NAMES = frozenset(column.name for column in ROW_COLUMNS)
# What a row has of its window; the rest it has itself.
_OF_WINDOW = (START, END, EMISSION, REVISION, "_event_time")


class WindowRowsOperator(Operator[WindowRows]):
    def process(self, batch: BatchContext) -> None:
        source = batch.flows.get(self.stage.input)
        if source is not None and (rows := window_rows(self.stage, source, batch.batch.batch_id)) is not None:
            self.took(RowHandling.UNNEST, batch)
            batch.flows[self.name] = rows


def window_rows(stage: WindowRows, source: Flow, batch_id: int) -> Flow | None:
    """In the order of emissions; the rows of one stand as they arrived."""
    windows = source.table
    assert windows is not None, "windows put out tables"
    held = windows[WINDOW_ROWS].combine_chunks()
    if stage.at_once:
        rows, of = held, pa.array(range(len(held)), pa.int64())
    else:
        elements, of = pc.list_flatten(held), pc.list_parent_indices(held)
        chosen = _not_said_before(stage, windows.select([*_OF_WINDOW, SEQ]).take(of), elements, batch_id)
        rows, of = pc.struct_field(elements, "v").take(chosen), of.take(chosen)
    if not len(rows):
        return None
    columns = {field.name: pc.struct_field(rows, index) for index, field in enumerate(rows.type)}
    visible = tuple(name for name in columns if name not in _ROW_NAMES)
    if "_event_time" in columns:
        columns[ROW_TIME] = columns["_event_time"]
    columns.update({name: windows[name].take(of) for name in _OF_WINDOW})
    columns[SEQ] = pa.array(range(len(rows)), pa.int64())
    return Flow(visible, table=pa.table(columns))


def _not_said_before(stage: WindowRows, windows: pa.Table, elements: pa.Array, batch_id: int) -> pa.Array:
    """The places of the elements that go out, in order. A late row goes out by itself: the others of its window had gone before."""
    frame = pl.DataFrame(
        {
            PLACE: pl.int_range(len(elements), dtype=pl.Int64, eager=True),
            "batch": pl.Series(pc.struct_field(elements, "b")),
            "row": pl.Series(pc.struct_field(elements, "s")),
            **{name: pl.Series(windows[name]) for name in (SEQ, START, END, EMISSION)},
        }
    )
    # Within a batch a window may emit more than once, and sessions may have other bounds when they do.
    told_by = ("batch", "row", START, END) if isinstance(stage.kind, FixedKind) else ("batch", "row")
    fresh = frame.filter((pl.col(EMISSION) != LATE) | (pl.col("batch") == batch_id)).sort(SEQ, "batch", "row")
    return fresh.unique(told_by, keep="first", maintain_order=True)[PLACE].to_arrow()
