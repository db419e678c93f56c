"""The order of emissions that several executors made."""

from __future__ import annotations

import polars as pl

from windrow.windowing.columns import EMISSION, END, FINAL, LATE, SEQ, START
from windrow.windowing.epochs import EPOCH
from windrow.windowing.order import in_order


def _emissions(*rows: tuple[str, int, str, int | None, int | None]) -> pl.DataFrame:
    frame = pl.DataFrame(list(rows), {"_k0": pl.String, END: pl.Int64, EMISSION: pl.String, SEQ: pl.Int64, EPOCH: pl.Int64}, orient="row")
    return frame.with_columns((pl.col(END) - 10).alias(START))


def _shown(emissions: pl.DataFrame) -> list[tuple[str, str]]:
    return emissions.select("_k0", EMISSION).rows()


def test_what_a_later_piece_of_a_batch_says_comes_after_what_closed_before_it() -> None:
    """A correction carries the place of its row, the window that it corrects does not."""
    emissions = _emissions(("a", 10, LATE, 4, 1), ("a", 10, FINAL, None, 0), ("b", 10, FINAL, None, 0))
    assert _shown(in_order(emissions, ("_k0",))) == [("a", FINAL), ("b", FINAL), ("a", LATE)]


def test_a_group_without_a_row_in_the_batch_closes_at_its_end() -> None:
    emissions = _emissions(("b", 10, FINAL, None, None), ("a", 20, FINAL, None, 2))
    assert _shown(in_order(emissions, ("_k0",))) == [("a", FINAL), ("b", FINAL)]


def test_without_pieces_rows_speak_before_time_does() -> None:
    emissions = _emissions(("a", 10, FINAL, None, None), ("b", 10, LATE, 4, None)).drop(EPOCH)
    assert _shown(in_order(emissions, ("_k0",))) == [("b", LATE), ("a", FINAL)]
