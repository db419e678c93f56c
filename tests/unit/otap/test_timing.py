"""The hand-over of windows."""

from __future__ import annotations

import pytest

from windrow.otap.timing import MINUTE, Timing, Window, hand_over, windows_in

C = Timing(10 * MINUTE, MINUTE, MINUTE, MINUTE)


def test_windows_are_gapless_also_from_within_one() -> None:
    found = list(windows_in(C, MINUTE // 2, 3 * MINUTE))
    assert found == [Window(MINUTE // 2, MINUTE), Window(MINUTE, 2 * MINUTE), Window(2 * MINUTE, 3 * MINUTE)]


@pytest.mark.parametrize(
    ("done", "safe", "ranges", "most", "until"),
    [
        # One window with data a batch.
        (0, 10, [(0, 9)], 1, 1),
        (0, 10, [(0, 9)], 3, 3),
        # Empty windows before data are passed over with it, and those up to the safe time when there is none left.
        (0, 10, [(4, 4)], 1, 5),
        (5, 10, [(4, 4)], 1, 10),
        (0, 10, [], 1, 10),
        # Nothing is safe: nothing moves, and never back.
        (3, 3, [(3, 9)], 1, 3),
        (3, 3, [], 5, 3),
        (3, 2, [(0, 9)], 5, 3),
        # What is not safe yet waits.
        (0, 4, [(2, 9)], 9, 4),
        (0, 4, [(6, 9)], 1, 4),
        (0, 100, [(2, 3), (50, 50), (70, 70)], 3, 51),
    ],
)
def test_hand_over_takes_windows_with_data_in_order(done: int, safe: int, ranges: list[tuple[int, int]], most: int, until: int) -> None:
    minutes = [(least * MINUTE, greatest * MINUTE) for least, greatest in ranges]
    assert hand_over(C, done * MINUTE, safe * MINUTE, minutes, most) == until * MINUTE


def test_catching_up_is_strictly_ascending_and_complete() -> None:
    done, taken = 0, []
    while (until := hand_over(C, done, 50 * MINUTE, [(3 * MINUTE, 8 * MINUTE), (30 * MINUTE, 31 * MINUTE)], 2)) > done:
        taken.append((done // MINUTE, until // MINUTE))
        done = until
    assert taken == [(0, 5), (5, 7), (7, 9), (9, 32), (32, 50)]
