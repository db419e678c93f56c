"""State stays as large as what is open: thousands of batches at a steady load, and no copy of what a batch does not touch."""

from __future__ import annotations

import polars as pl
import pytest

from windrow.model.window_kinds import Sliding, Tumbling
from windrow.windowing.columns import COUNT, EMISSION, FIRST, LAST, REVISION, SEQ, SLICE, START, Layout
from windrow.windowing.counted import CountStep
from windrow.windowing.emit_policy import EmitPolicy
from windrow.windowing.panes import PaneStep
from windrow.windowing.sessions import SessionStep
from windrow.windowing.slices import FRESH, HELD, MOST_CHUNKS, SliceStep
from windrow.windowing.step import BatchTime, Tables, WindowStep

LAYOUT = Layout(("_k0",), (pl.col("_a0_s").sum(),), ("_a0_s",))
GROUPS = 3


def batch_at(slice_start: int, at: int) -> pl.DataFrame:
    """One row of each group."""
    return pl.DataFrame(
        {"_k0": ["a", "b", None], SLICE: slice_start, COUNT: 1, "_a0_s": at, SEQ: [0, 1, 2], FIRST: at, LAST: at},
        schema_overrides={SLICE: pl.Int64, COUNT: pl.Int64, "_a0_s": pl.Int64, FIRST: pl.Int64, LAST: pl.Int64},
    )


def height(state: Tables) -> int:
    return sum(table.height for table in state.values())


STEPS: list[tuple[WindowStep, int, int]] = [
    # The step, the width of its slices, and how many rows of state a group may have at most.
    (SliceStep(LAYOUT, Tumbling(100)), 100, 4),
    (SliceStep(LAYOUT, Tumbling(100), lateness=300), 100, 14),
    (SliceStep(LAYOUT, Sliding(100, 20)), 20, 16),
    (PaneStep(LAYOUT, EmitPolicy(every_row=True), Tumbling(100)), 100, 4),
    (PaneStep(LAYOUT, EmitPolicy(on_close=True, every_records=2), Tumbling(100), lateness=300), 100, 14),
    (SessionStep(LAYOUT, 3), 3, 4),
    (CountStep(LAYOUT, 5), 1, 3),
]


@pytest.mark.parametrize(("step", "width", "most"), STEPS, ids=lambda value: type(value).__name__)
def test_state_is_bounded_over_many_batches(step: WindowStep, width: int, most: int) -> None:
    state: Tables = {}
    greatest = 0
    for batch in range(400):
        at = batch * 10
        rows = batch_at(at - at % width, at)
        state = step.step(state, rows, BatchTime(at - 10, at, at)).state
        greatest = max(greatest, height(state))
    assert greatest <= most * GROUPS


@pytest.mark.slow
def test_state_is_bounded_over_ten_thousand_batches_of_every_kind() -> None:
    for step, width, most in STEPS:
        state: Tables = {}
        for batch in range(10_000):
            at = batch * 10
            state = step.step(state, batch_at(at - at % width, at), BatchTime(at - 10, at, at)).state
            assert height(state) <= most * GROUPS


def many_groups(count: int, slice_start: int) -> pl.DataFrame:
    frame = pl.DataFrame({"_k0": [f"g{i}" for i in range(count)], SEQ: range(count)})
    times = (pl.lit(slice_start if name == SLICE else 0, pl.Int64).alias(name) for name in (SLICE, FIRST, LAST))
    return frame.with_columns(pl.lit(1, pl.Int64).alias(COUNT), pl.lit(1, pl.Int64).alias("_a0_s"), *times)


def test_slices_are_piled_up_and_merged_only_when_the_pile_has_doubled() -> None:
    step = SliceStep(LAYOUT, Tumbling(100))
    state = step.step({}, many_groups(1000, 0), BatchTime(None, None, 0)).state
    merges = 0
    for batch in range(500):
        before = state[HELD]
        state = step.step(state, many_groups(10, 0), BatchTime(None, batch // 10, batch)).state
        assert state[HELD].height == 1000
        assert FRESH not in state or state[FRESH].n_chunks() <= MOST_CHUNKS + 1
        merges += before["_a0_s"].sum() != state[HELD]["_a0_s"].sum()
    assert merges == 5
    result = step.step(state, None, BatchTime(49, 100, 501))
    assert result.emissions is not None
    assert result.emissions["_a0_s"].sum() == 1000 + 500 * 10
    assert not result.state


@pytest.mark.parametrize(
    "step", [PaneStep(LAYOUT, EmitPolicy(every_row=True), Tumbling(100)), SessionStep(LAYOUT, 50), CountStep(LAYOUT, 1000)]
)
def test_a_small_batch_leaves_the_large_table_as_it_is(step: WindowStep) -> None:
    state = step.step({}, many_groups(1000, 0), BatchTime(None, None, 0)).state
    large = state["base"]
    for batch in range(20):
        state = step.step(state, many_groups(10, 0), BatchTime(None, None, batch)).state
        assert state["base"].equals(large)
    windows = step.open_windows(state)
    assert windows is not None
    assert (windows.height, windows[COUNT].sum()) == (1000, 1000 + 20 * 10)


def test_groups_without_a_window_go_when_their_time_to_live_has_passed() -> None:
    step = PaneStep(LAYOUT, EmitPolicy(every_row=True), ttl=50)
    state = step.step({}, batch_at(0, 0), BatchTime(None, 0, 0)).state
    again = step.step(state, batch_at(0, 0), BatchTime(0, 0, 49))
    assert again.emissions is not None
    assert again.emissions[REVISION].to_list() == [2, 2, 2]
    assert step.step(again.state, None, BatchTime(0, 0, 98)).state
    assert not step.step(again.state, None, BatchTime(0, 0, 99)).state


def test_many_groups_without_a_window() -> None:
    """More rows than Polars filters in one piece: a claim without a column in it fails there."""
    step = PaneStep(LAYOUT, EmitPolicy(per_batch=True))
    state = step.step({}, many_groups(120_000, 0), BatchTime(None, None, 0)).state
    result = step.step(state, many_groups(2, 0), BatchTime(None, 5, 1))
    assert result.emissions is not None
    assert result.emissions.select(COUNT, REVISION).rows() == [(2, 2), (2, 2)]
    windows = step.open_windows(result.state)
    assert windows is not None
    assert windows.height == 120_000


def test_a_row_shows_once_in_every_one_of_its_windows_earliest_first() -> None:
    step = PaneStep(LAYOUT, EmitPolicy(every_row=True), Tumbling(100))
    row = batch_at(0, 0).head(1)
    rows = pl.concat([row.with_columns(pl.lit(start, pl.Int64).alias(SLICE)) for start in (40, 0, 60, 20)])
    said = step.step({}, rows, BatchTime(None, None, 0)).emissions
    assert said is not None
    assert said[START].to_list() == [0, 20, 40, 60]


def test_rows_after_the_last_early_emission_are_shown_when_the_interval_is_over() -> None:
    """EVERY 2 RECORDS OR EVERY 30: the third row of a batch has not been shown by the emission of the second."""
    step = PaneStep(LAYOUT, EmitPolicy(every_records=2, interval=30, on_close=True), Tumbling(100))
    row = batch_at(0, 1).head(1)
    rows = pl.concat([row.with_columns(pl.lit(n, pl.Int64).alias(SEQ), pl.lit(n + 1, pl.Int64).alias(COUNT)) for n in range(3)])
    first = step.step({}, rows, BatchTime(None, None, 0))
    assert first.emissions is not None
    assert first.emissions[COUNT].to_list() == [2]
    later = step.step(first.state, None, BatchTime(None, None, 30)).emissions
    assert later is not None
    assert later.select(COUNT, EMISSION, REVISION).rows() == [(3, "early", 2)]
