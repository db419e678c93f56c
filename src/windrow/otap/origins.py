"""Which resource and scope a row belongs to, where the exporter has moved the ids of one side only.

``resource_attrs.parent_id`` is unique in its partition; ``resource.id`` inside a row counts from 0 in every batch that came over
the wire, so what has to be added is the offset of the row's batch. Every batch has a resource 0, so its offset is a parent id
itself: the first of a run of parent ids without a gap. Where a run may as well be two batches, the row is counted as ambiguous.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

ResourceIds = Literal["batch_local", "partition_unique"]


def find_owners(rows: pl.DataFrame, known: pl.Series, ids: ResourceIds) -> pl.DataFrame:
    """``rows`` (``id``, ``resource``, ``scope``, in the order of their file) with the parent ids of their attributes.

    ``known`` are the parent ids of resource attributes. Gives ``resource_owner``, ``scope_owner`` and ``is_ambiguous``.

    The exporter's own example: two batches with one resource each, three logs and two.

    >>> rows = pl.DataFrame({"id": [0, 1, 2, 3, 4], "resource": [0] * 5, "scope": [0] * 5})
    >>> find_owners(rows, pl.Series([0, 3]), "batch_local")["resource_owner"].to_list()
    [0, 0, 0, 3, 3]
    """
    if ids == "partition_unique":
        return rows.select(resource_owner="resource", scope_owner="scope", is_ambiguous=pl.lit(False))
    runs = _runs(known)
    placed = rows.select(pl.col("id", "resource", "scope").cast(pl.Int64)).with_row_index("_row")
    # A row without attributes has no id: it came with its neighbours, where these came together.
    before, after = pl.col("id").fill_null(strategy="forward"), pl.col("id").fill_null(strategy="backward")
    placed = placed.with_columns(before=before.fill_null(after), after=after.fill_null(before))
    placed = _batch_of(_batch_of(placed, runs, "before"), runs, "after")
    start, size = pl.col("start_before"), pl.col("size_before")
    # A row with the last resource of the run shows that all of it is one batch.
    is_whole = pl.col("resource").max().over("start_before") >= size - 1
    is_certain = start.is_not_null() & is_whole & (start == pl.col("start_after"))
    return placed.sort("_row").select(
        resource_owner=start + pl.col("resource"),
        scope_owner=start + pl.col("scope"),
        is_ambiguous=~is_certain.fill_null(False) & pl.col("resource").is_not_null(),
    )


def _batch_of(rows: pl.DataFrame, runs: pl.DataFrame, column: str) -> pl.DataFrame:
    """The last run that starts at or below the id in a column."""
    named = runs.rename({name: f"{name}_{column}" for name in runs.columns})
    ordered = rows.sort(column, nulls_last=True, maintain_order=True)
    return ordered.join_asof(named, left_on=column, right_on=f"start_{column}", strategy="backward", coalesce=False)


def _runs(known: pl.Series) -> pl.DataFrame:
    """The first of each run of numbers without a gap, and how many they are."""
    numbers = pl.DataFrame({"n": known.cast(pl.Int64)}).drop_nulls().unique().sort("n")
    numbers = numbers.with_columns(run=(pl.col("n").diff().fill_null(2) != 1).cum_sum())
    return numbers.group_by("run").agg(start=pl.col("n").min(), size=pl.len().cast(pl.Int64)).sort("start").select("start", "size")
