"""Windows and slices of fixed windows: before 1970, with offsets, and with sizes that the advance does not divide."""

from __future__ import annotations

import pytest

from windrow.windowing.bounds import Fixed

KINDS = [Fixed(10, 10), Fixed(10, 10, 3), Fixed(10, 5), Fixed(10, 5, 2), Fixed(7, 3), Fixed(7, 3, 1), Fixed(15, 10, 4), Fixed(1, 1)]
TIMES = range(-40, 41)


def starts_by_search(fixed: Fixed, at: int) -> list[int]:
    return [s for s in range(at - fixed.size + 1, at + 1) if (s - fixed.offset) % fixed.advance == 0]


@pytest.mark.parametrize("fixed", KINDS)
def test_every_window_that_holds_a_time_and_no_other(fixed: Fixed) -> None:
    for at in TIMES:
        assert list(fixed.window_starts(at)) == starts_by_search(fixed, at)
        assert fixed.last_start(at) == starts_by_search(fixed, at)[-1]
        assert fixed.last_end(at) == starts_by_search(fixed, at)[-1] + fixed.size


@pytest.mark.parametrize("fixed", KINDS)
def test_the_times_of_a_slice_belong_to_the_same_windows(fixed: Fixed) -> None:
    for at in TIMES:
        start = fixed.slice_start(at)
        assert start <= at < start + fixed.slice
        assert list(fixed.window_starts(start)) == list(fixed.window_starts(at))
        # So may be asked of a slice's start what is asked of its rows.
        assert fixed.last_end(start) == fixed.last_end(at)


@pytest.mark.parametrize("fixed", KINDS)
def test_windows_are_whole_numbers_of_slices(fixed: Fixed) -> None:
    for at in TIMES:
        for start in fixed.window_starts(at):
            assert fixed.slice_start(start) == start
            assert fixed.slice_start(start + fixed.size) == start + fixed.size


@pytest.mark.parametrize("fixed", KINDS)
def test_the_earliest_open_window_is_the_first_that_ends_after_the_watermark(fixed: Fixed) -> None:
    for watermark in TIMES:
        start = fixed.earliest_open_start(watermark)
        assert (start - fixed.offset) % fixed.advance == 0
        assert start + fixed.size > watermark >= start + fixed.size - fixed.advance
