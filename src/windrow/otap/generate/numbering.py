"""What the exporter does to the ids of a batch, so that they are unique in its partition."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from windrow.otap.generate.origins import BATCH, Frames
from windrow.otap.generate.settings import Ids

_OFFSET = "_offset"


def joined(parts: Iterable[Frames]) -> Frames:
    """The tables of several signals: resource and scope attributes of all of them lie in one table."""
    found: dict[str, list[pl.DataFrame]] = {}
    for part in parts:
        for table, frame in part.items():
            found.setdefault(table, []).append(frame)
    return {table: pl.concat(frames).sort(BATCH, maintain_order=True) for table, frames in found.items()}


def number_in_partition(frames: Frames, ids: Ids) -> Frames:
    """Every batch's ``id`` and ``parent_id`` moved beyond those before it.

    The exporter leaves ``resource.id`` and ``scope.id`` inside their structs as they were, although it moves the ``parent_id``
    of their attributes: ``batch_local`` does the same, ``partition_unique`` moves them too.
    """
    highest = [frame.group_by(BATCH).agg(pl.col("id").max()) for frame in frames.values() if "id" in frame.columns]
    batches = pl.concat([frame.select(BATCH) for frame in frames.values()]).unique()
    by_batch = batches.join(pl.concat(highest).group_by(BATCH).agg(pl.col("id").max()), on=BATCH, how="left").sort(BATCH)
    size = pl.col("id").fill_null(0) + 1
    offsets = by_batch.select(BATCH, (size.cum_sum() - size).alias(_OFFSET))
    return {table: _moved(frame.join(offsets, on=BATCH, how="left", maintain_order="left"), ids) for table, frame in frames.items()}


def _moved(frame: pl.DataFrame, ids: Ids) -> pl.DataFrame:
    frame = frame.with_columns(pl.col(name) + pl.col(_OFFSET) for name in ("id", "parent_id") if name in frame.columns)
    if ids == "partition_unique" and "resource" in frame.columns:
        moved = (pl.col(name).struct.with_fields(pl.field("id") + pl.col(_OFFSET)) for name in ("resource", "scope"))
        frame = frame.with_columns(moved)
    return frame.drop(_OFFSET)
