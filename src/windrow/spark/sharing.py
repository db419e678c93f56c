"""One statement's share of what the executors made of a batch for several."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from windrow.model.fate import Fate
from windrow.plan.sharing import SharedFeed, fixed_of
from windrow.plan.stages import Aggregate
from windrow.spark.carrying import ROW
from windrow.spark.feeds import JUDGED, ROWS_COUNT, part_names
from windrow.windowing.columns import COUNT, NEVER, SLICE


def share_of(stage: Aggregate, shared: SharedFeed, fed: pa.Table, watermark: int | None, evicted: int) -> pa.Table:
    """As if it had been fed alone: its own aggregates, its own slices, and late what is late for its windows."""
    fixed = fixed_of(stage)
    assert fixed is not None, "only fixed windows share"
    at = pl.col(SLICE)
    end = at - (at - fixed.offset) % fixed.advance + fixed.size
    is_gone = (end + stage.lateness <= (NEVER if watermark is None else watermark)) | (end <= evicted)
    is_in_time = (pl.col(JUDGED) == Fate.LATE.value) & ~is_gone
    told = pl.DataFrame({SLICE: pl.from_arrow(fed[SLICE]), JUDGED: pl.from_arrow(fed[JUDGED])}).select(
        at - (at - fixed.offset) % fixed.slice,
        pl.when(is_in_time).then(pl.lit(Fate.OK.value)).otherwise(pl.col(JUDGED)).cast(pl.Int32).alias(JUDGED),
    )
    columns = {name: fed[name] for name, _ in stage.keys}
    columns[SLICE] = pa.chunked_array([told[SLICE].to_arrow()])
    columns[JUDGED] = pa.chunked_array([told[JUDGED].to_arrow()]).cast(fed[JUDGED].type)
    columns.update({name: fed[name] for name in (ROW, COUNT, ROWS_COUNT)})
    by_slot = {item.slot: item for item in shared.leader.aggregates}
    for item in stage.aggregates:
        theirs = part_names(by_slot[shared.slots[stage.name][item.slot]])
        columns.update({own: fed[theirs[part]] for part, own in part_names(item).items()})
    return pa.table(columns)
