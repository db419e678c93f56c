"""HAVING over time: a group that was let out and is rejected later must be taken back, and only what is said is numbered."""

from __future__ import annotations

import polars as pl

from windrow.windowing.columns import END, REVISION, START, join_on
from windrow.windowing.step import stack

LET_OUT = "_let_out"
SPEAKS, RETRACTS = "_speaks", "_retracts"
_SAID, _PLACE = "_said", "_place"


def settle(
    keys: tuple[str, ...], known: pl.DataFrame | None, verdicts: pl.DataFrame, kept_beyond: int
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """What becomes of each emission, in order, and what is known of groups afterwards.

    ``verdicts`` has one row per emission: its group's keys, its window's bounds, and whether HAVING lets it out. Gives for each
    whether it is said, whether as a retraction, and its revision. Windows that end at or before ``kept_beyond`` are forgotten.
    """
    pane = (*keys, START)
    ordered = verdicts.with_row_index(_PLACE).with_columns(pl.col(LET_OUT).fill_null(False))
    if known is None:
        seeded = ordered.with_columns(pl.lit(False).alias("_was_out"), pl.lit(0, pl.Int32).alias(_SAID))
    else:
        before = known.select(*pane, pl.col(LET_OUT).alias("_was_out"), _SAID)
        seeded = join_on(ordered, before, pane, "left").with_columns(pl.col("_was_out").fill_null(False), pl.col(_SAID).fill_null(0))
    seeded = seeded.sort(_PLACE)
    previous = pl.col(LET_OUT).shift(1).over(pane, order_by=_PLACE).fill_null(pl.col("_was_out"))
    judged = seeded.with_columns((pl.col(LET_OUT) | previous).alias(SPEAKS), (~pl.col(LET_OUT) & previous).alias(RETRACTS))
    spoken = pl.col(SPEAKS).cast(pl.Int32).cum_sum().over(pane, order_by=_PLACE)
    judged = judged.with_columns((pl.col(_SAID) + spoken).cast(pl.Int32).alias(REVISION))
    last = judged.filter(pl.col(_PLACE) == pl.col(_PLACE).max().over(pane))
    fresh = last.select(*pane, END, LET_OUT, pl.col(REVISION).alias(_SAID))
    untouched = None if known is None else join_on(known, fresh.select(*pane), pane, "anti")
    after = stack([untouched, fresh])
    if after is not None:
        after = after.filter(pl.col(END).is_null() | (pl.col(END) > kept_beyond))
    return judged.select(SPEAKS, RETRACTS, REVISION), after
