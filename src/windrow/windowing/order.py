"""The order of a step's emissions, whoever made them: what rows made due in the order of the rows, then what time made due."""

from __future__ import annotations

import polars as pl

from windrow.windowing.columns import EARLY, EMISSION, END, FOREVER, SEQ, START
from windrow.windowing.epochs import EPOCH


def in_order(emissions: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """Emissions that a row caused carry its place in the batch; the others go by what they are and by the window's end.

    Of a batch that was taken in pieces, all of that holds within a piece. Groups without a row in it come last.
    """
    piece = [pl.col(EPOCH).fill_null(FOREVER)] if EPOCH in emissions.columns else []
    by_time = [pl.col(EMISSION) != EARLY, pl.col(END), pl.col(START), *(pl.col(key) for key in keys)]
    if SEQ in emissions.columns:
        # Windows of one row are told apart by their start, and by nothing else: a group's own order stays.
        is_by_row = pl.col(SEQ).is_not_null()
        by_row = [pl.when(is_by_row).then(pl.col(SEQ)), pl.when(is_by_row).then(pl.col(START))]
        timed = [pl.when(~is_by_row).then(key) for key in by_time]
        return emissions.sort(*piece, ~is_by_row, *by_row, *timed, nulls_last=False, maintain_order=True)
    return emissions.sort(*piece, *by_time, nulls_last=False, maintain_order=True)
