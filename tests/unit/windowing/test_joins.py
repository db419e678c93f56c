"""Pairs of two streams against a reference that compares every row with every other, for random rows, bounds and batch cuts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.windowing.columns import FOREVER, TIME
from windrow.windowing.joins import HELD, ID, LEFT_ID, MARK, MATCHED, RIGHT_ID, SideStep, Span, Until, find_pairs
from windrow.windowing.step import BatchTime, Tables

KEYS = ("_j0",)
SCHEMA = {"_j0": pl.Int64, TIME: pl.Int64, ID: pl.Int64, MATCHED: pl.Boolean, MARK: pl.Boolean}


@dataclass(frozen=True)
class Row:
    is_left: bool
    key: int | None
    time: int


@dataclass
class Join:
    """Drives the step as the engine does: find pairs, mark what was paired, move both sides on."""

    span: Span
    keeps_left: bool = False
    keeps_right: bool = False
    delay: int = 0
    pairs: list[tuple[Row, Row]] = field(default_factory=list)
    alone: list[Row] = field(default_factory=list)
    watermark: int | None = None
    greatest: dict[bool, int] = field(default_factory=dict)
    rows: dict[bool, list[Row]] = field(default_factory=lambda: {True: [], False: []})
    states: dict[bool, Tables] = field(default_factory=lambda: {True: {}, False: {}})

    def step_of(self, is_left: bool) -> SideStep:
        return (
            SideStep(KEYS, Until(self.span.high + 1), self.keeps_left)
            if is_left
            else SideStep(KEYS, Until(1 - self.span.low), self.keeps_right)
        )

    def take(self, batch: list[Row], *, is_end: bool = False) -> None:
        new = {side: self._number([row for row in batch if row.is_left is side], side) for side in (True, False)}
        held = {side: self.states[side].get(HELD) for side in (True, False)}
        found = find_pairs((held[True], new[True]), (held[False], new[False]), KEYS, self.span)
        for left, right in found.select(LEFT_ID, RIGHT_ID).rows():
            self.pairs.append((self.rows[True][left], self.rows[False][right]))
        for row in batch:
            self.greatest[row.is_left] = max(self.greatest.get(row.is_left, row.time), row.time)
        before = self.watermark
        if len(self.greatest) == 2:
            self.watermark = max(min(self.greatest.values()) - self.delay, before if before is not None else -(10**9))
        self.watermark = FOREVER if is_end else self.watermark
        for side, column in ((True, LEFT_ID), (False, RIGHT_ID)):
            self._move(side, new[side], set(found[column].to_list()), BatchTime(before, self.watermark, 0))

    def _number(self, rows: list[Row], side: bool) -> pl.DataFrame | None:
        first = len(self.rows[side])
        self.rows[side] += rows
        data = [(row.key, row.time, first + i, False, False) for i, row in enumerate(rows)]
        return pl.DataFrame(data, schema=SCHEMA, orient="row") if data else None

    def _move(self, side: bool, new: pl.DataFrame | None, paired: set[int], tick: BatchTime) -> None:
        marks = [(None, None, number, True, True) for number in paired]
        given = pl.DataFrame(marks, schema=SCHEMA, orient="row")
        if new is not None:
            given = pl.concat([new.with_columns(pl.col(ID).is_in(list(paired)).alias(MATCHED)), given])
        outcome = self.step_of(side).step(self.states[side], given if given.height else None, tick)
        self.states[side] = outcome.state
        if outcome.emissions is not None:
            self.alone += [self.rows[side][number] for number in outcome.emissions[ID].to_list()]

    @property
    def held(self) -> int:
        return sum(state[HELD].height for state in self.states.values() if HELD in state)


def belong(left: Row, right: Row, span: Span) -> bool:
    return left.key is not None and left.key == right.key and span.low <= right.time - left.time <= span.high


def every_pair(rows: list[Row], span: Span) -> Counter[tuple[Row, Row]]:
    lefts, rights = [row for row in rows if row.is_left], [row for row in rows if not row.is_left]
    return Counter((left, right) for left in lefts for right in rights if belong(left, right, span))


ROWS = st.lists(st.builds(Row, st.booleans(), st.one_of(st.none(), st.integers(0, 2)), st.integers(-8, 20)), max_size=25)
SPANS = st.tuples(st.integers(-6, 6), st.integers(0, 8)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))
CUTS = st.lists(st.integers(0, 25), max_size=6)


def batches(rows: list[Row], cuts: list[int]) -> list[list[Row]]:
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [rows[a:b] for a, b in pairwise(ends)]


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, span=SPANS, cuts=CUTS)
def test_rows_within_the_delay_meet_all_their_partners_in_any_order(rows: list[Row], span: Span, cuts: list[int]) -> None:
    join = Join(span, keeps_left=True, keeps_right=True, delay=100)
    for batch in batches(rows, cuts):
        join.take(batch)
    assert not join.alone
    join.take([], is_end=True)
    check_complete(join, rows, span)


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, span=SPANS, cuts=CUTS)
def test_rows_in_time_order_do_not_depend_on_batches(rows: list[Row], span: Span, cuts: list[int]) -> None:
    ordered = sorted(rows, key=lambda row: row.time)
    join = Join(span, keeps_left=True, keeps_right=True)
    for batch in batches(ordered, cuts):
        join.take(batch)
    join.take([], is_end=True)
    check_complete(join, ordered, span)


def check_complete(join: Join, rows: list[Row], span: Span) -> None:
    expected = every_pair(rows, span)
    assert Counter(join.pairs) == expected
    paired = {row for pair in expected for row in pair}
    assert Counter(join.alone) == Counter(row for row in rows if row not in paired)
    assert join.held == 0


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, span=SPANS, cuts=CUTS, delay=st.integers(0, 4))
def test_late_rows_come_out_once_and_never_in_false_company(rows: list[Row], span: Span, cuts: list[int], delay: int) -> None:
    join = Join(span, keeps_left=True, keeps_right=True, delay=delay)
    for batch in batches(rows, cuts):
        join.take(batch)
    join.take([], is_end=True)
    possible = every_pair(rows, span)
    found = Counter(join.pairs)
    assert all(found[pair] <= possible[pair] for pair in found)
    out = Counter({id_row: 1 for pair in join.pairs for id_row in pair})
    alone = Counter(join.alone)
    for row, count in Counter(rows).items():
        # Equal rows are alike: each is in a pair, or alone, and none is forgotten.
        assert alone[row] <= count
        assert out[row] or alone[row] == count
    assert join.held == 0


@settings(max_examples=80, deadline=None)
@given(rows=ROWS, span=SPANS, cuts=CUTS)
def test_what_is_held_is_bounded_by_the_watermark(rows: list[Row], span: Span, cuts: list[int]) -> None:
    join = Join(span)
    for batch in batches(rows, cuts):
        join.take(batch)
    if join.watermark is None:
        return
    for side in (True, False):
        held = join.states[side].get(HELD)
        reach = span.high if side else -span.low
        assert held is None or (held[TIME] + reach).min() >= join.watermark  # type: ignore[operator]  # a number, as there are rows
        assert held is None or held["_j0"].null_count() == 0


@pytest.mark.parametrize(("distance", "is_paired"), [(-2, False), (-1, True), (0, True), (3, True), (4, False)])
def test_both_ends_belong_to_the_bound(distance: int, is_paired: bool) -> None:
    join = Join(Span(-1, 3))
    join.take([Row(True, 1, 10), Row(False, 1, 10 + distance)])
    assert bool(join.pairs) is is_paired


def test_a_row_with_the_time_of_the_watermark_still_finds_its_partner() -> None:
    join = Join(Span(0, 5), keeps_left=True)
    join.take([Row(True, 1, 10)])
    join.take([Row(True, 2, 15), Row(False, 2, 15)])
    join.take([Row(False, 1, 15)])
    assert (Row(True, 1, 10), Row(False, 1, 15)) in join.pairs
    join.take([Row(True, 3, 16), Row(False, 3, 16)])
    assert not join.alone


def test_pairs_come_in_the_order_of_the_later_row() -> None:
    join = Join(Span(-5, 5))
    join.take([Row(True, 1, 3), Row(False, 1, 4), Row(True, 1, 1), Row(False, 1, 2)])
    assert [max(left.time, right.time) for left, right in join.pairs] == [2, 3, 4, 4]


def test_keys_of_different_types_meet() -> None:
    left = pl.DataFrame({"_j0": [1], TIME: [0], ID: [0]})
    right = pl.DataFrame({"_j0": [1.0], TIME: [0], ID: [0]})
    nothing = pl.DataFrame({"_j0": [None], TIME: [0], ID: [0]})
    assert find_pairs((None, left), (None, right), KEYS, Span(0, 0)).height == 1
    assert find_pairs((None, left), (None, nothing), KEYS, Span(0, 0)).height == 0
