"""Partials of sessions that lie at most a gap apart."""

from __future__ import annotations

import polars as pl

from windrow.windowing.columns import FIRST, LAST

CHAIN = "_chain"


def chain_numbers(every: pl.DataFrame, keys: tuple[str, ...], gap: int, first: str = FIRST, last: str = LAST) -> pl.Series:
    """Rows are sorted by group and start: a new chain begins where the group changes or the gap is exceeded.

    How far a group's rows have reached is one running maximum over all groups, of ranks that are higher in every later
    group: with many small groups that is far cheaper than a maximum for each.
    """
    changes = [pl.col(k).ne_missing(pl.col(k).shift(1)) for k in keys]
    is_new = pl.any_horizontal(changes) if changes else pl.lit(False)
    marked = every.select(first, is_new.alias("_new"), (pl.col(last).rank("ordinal").cast(pl.Int64) - 1).alias("_rank"))
    base = pl.col("_new").cast(pl.Int64).cum_sum() * every.height
    reached = marked.select(((base + pl.col("_rank")).cum_max() - base).alias("_rank"))["_rank"]
    reach = every[last].sort().gather(reached).shift(1).alias("_reach")
    is_apart = pl.col("_reach").is_null() | (pl.col(first) > pl.col("_reach") + gap)
    return marked.with_columns(reach).select((pl.col("_new") | is_apart).cast(pl.Int64).cum_sum().alias(CHAIN))[CHAIN]
