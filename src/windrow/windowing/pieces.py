"""What the state keeps of sessions: a row for each, or with a limit, the pieces that it may still be cut into.

With a limit, where a session is cut depends on rows that may still come before its first. A piece is a moment of a session, or a part
of it that stays together whatever comes, and has the bounds of its session beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from windrow.windowing.chains import CHAIN, chain_numbers
from windrow.windowing.columns import COUNT, FIRST, LAST, NEVER, REVISION, Layout, join_on
from windrow.windowing.emit_policy import DIRTY, EMITTED_AT
from windrow.windowing.lateness import is_over
from windrow.windowing.session_intervals import Bounds, Part, SessionRules, cut
from windrow.windowing.step import BatchTime

OPENED = "_opened"  # bounds of the session that a piece belongs to
REACHED = "_reached"
HELD = "_is_held"  # whether a partial was there before the batch
LEADS = "_leads"  # whether a partial is where its session began, or is new
_PART_FIRST = "_part_first"
_PART_LAST = "_part_last"
_MOMENT = "_moment"


@dataclass(frozen=True)
class Pieces:
    """``books`` are the columns that are remembered of a session beside how often it has emitted."""

    layout: Layout
    bounds: Bounds
    lateness: int
    books: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (FIRST, LAST, COUNT, *self.layout.parts)

    @property
    def is_limited(self) -> bool:
        return self.bounds.most is not None

    def whole(self, held: pl.DataFrame) -> pl.DataFrame:
        """Sessions, of what is held of them."""
        if not self.is_limited:
            return held
        bounds = (pl.col(REACHED).first().alias(LAST), *(pl.col(name).first() for name in (REVISION, *self.books)))
        books = held.group_by(*self.layout.keys, OPENED).agg(bounds)
        values = self.layout.merge(held, OPENED)
        whole = join_on(books, values, (*self.layout.keys, OPENED), "inner")
        return whole.rename({OPENED: FIRST}).select(*self.layout.keys, *self.columns, REVISION, *self.books)

    def of(self, clusters: pl.DataFrame, sessions: pl.DataFrame) -> pl.DataFrame | None:
        """The pieces of sessions, with the bounds that they have now."""
        if not self.is_limited:
            return None
        bounds = sessions.select(CHAIN, pl.col(FIRST).alias(OPENED))
        return clusters.drop(OPENED).join(bounds, on=CHAIN)

    def kept(self, sessions: pl.DataFrame, pieces: pl.DataFrame | None, tick: BatchTime) -> pl.DataFrame:
        """What the state keeps of sessions."""
        if not self.is_limited:
            return sessions.select(*self.layout.keys, *self.columns, REVISION, *self.books)
        bounds = (pl.col(FIRST).alias(OPENED), pl.col(LAST).alias(REACHED))
        books = sessions.select(*self.layout.keys, *bounds, REVISION, *self.books)
        assert pieces is not None
        bare = pieces.select(*self.layout.keys, OPENED, FIRST, LAST, COUNT, *self.layout.parts)
        return self._merged(join_on(bare, books, (*self.layout.keys, OPENED), "inner"), tick)

    def _merged(self, pieces: pl.DataFrame, tick: BatchTime) -> pl.DataFrame:
        """Rows of one moment are one piece, and so are those of a session that will never be cut from each other.

        A cut at or before the watermark would make a session that is over, so the row that asks for it comes too late.
        """
        moment = pl.when(is_over(pl.col(LAST), self.lateness, tick.watermark_before)).then(pl.lit(NEVER, pl.Int64)).otherwise(FIRST)
        marked = pieces.with_columns(moment.alias(_MOMENT))
        books = (REACHED, REVISION, *self.books)
        columns = (*self.layout.keys, *self.columns, OPENED, *books)
        by = (*self.layout.keys, OPENED, _MOMENT)
        if marked.select(by).is_unique().all():
            return marked.select(columns)
        merged = marked.group_by(by).agg(pl.col(FIRST).min(), pl.col(LAST).max(), *(pl.col(name).first() for name in books))
        return join_on(merged, self.layout.merge(marked, OPENED, _MOMENT), by, "inner").select(columns)

    def end(self) -> pl.Expr:
        return self._end_of(pl.col(FIRST), pl.col(LAST))

    def held_end(self) -> pl.Expr:
        """The end of the session that a row of the state belongs to."""
        return self._end_of(pl.col(OPENED), pl.col(REACHED)) if self.is_limited else self.end()

    def chain_end(self) -> pl.Expr:
        """The end of the session that the partials of a chain make."""
        return self._end_of(pl.col(FIRST).min().over(CHAIN), pl.col(LAST).max().over(CHAIN))

    def _end_of(self, first: pl.Expr, last: pl.Expr) -> pl.Expr:
        end = last + self.bounds.gap
        return end if self.bounds.most is None else pl.min_horizontal(end, first + self.bounds.most)

    def of_runs(self, partials: pl.DataFrame, rules: SessionRules, tick: BatchTime) -> pl.DataFrame:
        """The pieces of all runs that are left. A row that was counted into another session than its own has a place there."""
        left = [(number, run) for run in rules.left() for number in run.pieces]
        types: dict[str, Any] = dict.fromkeys((FIRST, LAST, OPENED, REACHED), pl.Int64)
        types |= {REVISION: pl.Int32, EMITTED_AT: pl.Int64, DIRTY: pl.Boolean}
        spans = ((rules.spans[number], run) for number, run in left)
        known = [(span.first, span.last, run.first, run.last, run.revision, run.emitted_at, run.is_dirty) for span, run in spans]
        values = partials[[number for number, _ in left]].select(*self.layout.keys, COUNT, *self.layout.parts)
        return self._merged(values.with_columns(pl.DataFrame(known, types, orient="row").get_columns()), tick)

    def cut_anew(self, every: pl.DataFrame, tick: BatchTime) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Sessions with a limit, and the rows that come too late. One that has closed stays as it is; others are cut anew.

        What a session has emitted, and when, goes with its first piece.
        """
        is_closed = pl.col(HELD) & (self.held_end() <= tick.watermark_before)
        every = every.with_columns(
            pl.when(is_closed).then(OPENED).otherwise(FIRST).alias(_PART_FIRST),
            pl.when(is_closed).then(REACHED).otherwise(LAST).alias(_PART_LAST),
            (~pl.col(HELD) | (pl.col(FIRST) == pl.col(OPENED))).alias(LEADS),
        ).sort(*self.layout.keys, _PART_FIRST, _PART_LAST, nulls_last=False)
        forgets = {REVISION: pl.lit(0, pl.Int32), EMITTED_AT: pl.lit(tick.now, pl.Int64), DIRTY: pl.lit(False)}
        books = (REVISION, *self.books)
        every = every.with_columns(pl.when(LEADS).then(name).otherwise(forgets[name]).alias(name) for name in books)
        every = every.with_columns(chain_numbers(every, self.layout.keys, self.bounds.gap, _PART_FIRST, _PART_LAST))
        every = every.with_columns(self._cut_long(every, tick))
        return every.filter(pl.col(CHAIN).is_not_null()), every.filter(pl.col(CHAIN).is_null())

    def _cut_long(self, every: pl.DataFrame, tick: BatchTime) -> pl.Series:
        """New numbers for chains that are longer than the limit, or over. Most are neither, and only the others are taken row by row."""
        assert self.bounds.most is not None
        first, last = pl.col(_PART_FIRST).min().over(CHAIN), pl.col(_PART_LAST).max().over(CHAIN)
        has_ended = is_over(self.chain_end(), self.lateness, tick.rejects_by)
        long = every.select(pl.arg_where((last - first >= self.bounds.most) | has_ended)).to_series()
        if not long.len():
            return every[CHAIN]
        numbers: list[int | None] = []
        number = every[-1, CHAIN] + 1
        wanted = every[long].select(CHAIN, _PART_FIRST, _PART_LAST, HELD)
        for _, chain in groupby(wanted.iter_rows(), key=itemgetter(0)):
            parts = [Part(*row[1:]) for row in chain]
            own: list[int | None] = [None] * len(parts)
            for begin, stop in cut(parts, self.bounds, self._judge(tick)):
                own[begin:stop] = [number] * (stop - begin)
                number += 1
            numbers.extend(own)
        return every[CHAIN].scatter(long, pl.Series(numbers, dtype=pl.Int64))

    def _judge(self, tick: BatchTime) -> Callable[[int, bool], bool]:
        """Whether a session that ends then is over for good. What is held is judged by what has closed everywhere."""
        return lambda end, is_held: is_over(end, self.lateness, tick.watermark_before if is_held else tick.rejects_by)
