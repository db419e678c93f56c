"""Windows and slices of fixed windows: before 1970, with offsets, and with sizes that the advance does not divide."""

from __future__ import annotations

import pytest

from windrow.model.window_kinds import Cumulate, FixedKind, Sliding, Tumbling

KINDS: list[FixedKind] = [
    Tumbling(10),
    Tumbling(10, 3),
    Sliding(10, 10),
    Sliding(10, 5),
    Sliding(10, 5, 2),
    Sliding(7, 3),
    Sliding(7, 3, 1),
    Sliding(15, 10, 4),
    Tumbling(1),
    Cumulate(5, 10),
    Cumulate(4, 12, 7),
    Cumulate(3, 3),
    Cumulate(1, 9, 2),
]
TIMES = range(-40, 41)


def windows_by_search(kind: FixedKind, at: int) -> list[tuple[int, int]]:
    """Each window that holds a time, in the order of their ends."""
    match kind:
        case Cumulate(step=step, size=size, offset=offset):
            starts = [s for s in range(at - size + 1, at + 1) if (s - offset) % size == 0]
            return [(s, s + n) for s in starts for n in range(step, size + 1, step) if s + n > at]
        case _:
            step = kind.advance if isinstance(kind, Sliding) else kind.size
            return [(s, s + kind.size) for s in range(at - kind.size + 1, at + 1) if (s - kind.offset) % step == 0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_window_that_holds_a_time_and_no_other(kind: FixedKind) -> None:
    for at in TIMES:
        assert [(kind.start_of(pane), kind.end_of(pane)) for pane in kind.panes(at)] == windows_by_search(kind, at)
        assert kind.last_end(at) == windows_by_search(kind, at)[-1][1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_times_of_a_slice_belong_to_the_same_windows(kind: FixedKind) -> None:
    for at in TIMES:
        start = kind.slice_start(at)
        assert start <= at < start + kind.slice
        assert kind.panes(start) == kind.panes(at)
        # So may be asked of a slice's start what is asked of its rows.
        assert kind.last_end(start) == kind.last_end(at)


@pytest.mark.parametrize("kind", KINDS)
def test_windows_are_whole_numbers_of_slices(kind: FixedKind) -> None:
    for at in TIMES:
        for pane in kind.panes(at):
            for bound in (kind.start_of(pane), kind.end_of(pane)):
                assert kind.slice_start(bound) == bound


@pytest.mark.parametrize("kind", KINDS)
def test_the_earliest_open_window_is_the_first_that_ends_after_the_watermark(kind: FixedKind) -> None:
    for watermark in TIMES:
        ends = sorted({end for at in range(watermark - kind.size, watermark + kind.size) for _, end in windows_by_search(kind, at)})
        assert kind.end_of(kind.earliest_open_pane(watermark)) == next(end for end in ends if end > watermark)


@pytest.mark.parametrize("kind", KINDS)
def test_no_window_reaches_across_a_cycle(kind: FixedKind) -> None:
    if kind.cycle is None:
        return
    for at in TIMES:
        for start, end in windows_by_search(kind, at):
            assert (start - kind.offset) // kind.cycle == (end - 1 - kind.offset) // kind.cycle
