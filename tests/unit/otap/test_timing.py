"""Scenarios 1, 2, 4 and 6 of the receiver's conformance facts, and the hand-over of windows, on a manual clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from windrow.otap.timing import MINUTE, SECOND, Timing, Window, hand_over, windows_in

C = Timing(10 * MINUTE, MINUTE, MINUTE, MINUTE)


def at(text: str) -> int:
    return int(datetime.fromisoformat(f"2025-09-18T{text}").replace(tzinfo=UTC).timestamp()) * SECOND


def test_the_margin_is_the_sum() -> None:
    assert C.safety_margin == 720 * SECOND


@pytest.mark.parametrize(
    ("timing", "fault"),
    [
        (C, None),
        (Timing(10 * MINUTE, MINUTE, MINUTE, SECOND), None),
        (Timing(10 * MINUTE, MINUTE, MINUTE, SECOND - 1), "Window granularity must be at least 1 second"),
        (Timing(119 * SECOND, MINUTE, MINUTE, MINUTE), "Processing delay must be at least max clock drift plus max file duration"),
        (Timing(2 * MINUTE, MINUTE, MINUTE, MINUTE), None),
        (Timing(0, 0, 0, 86_400 * SECOND), None),
        (Timing(0, -1, 0, MINUTE), "A length of time cannot be less than 0"),
    ],
)
def test_lengths_are_validated(timing: Timing, fault: str | None) -> None:
    assert timing.fault() == fault


def test_a_window_is_safe_at_its_end_and_the_margin_inclusive() -> None:
    assert C.safe_at(Window(at("13:47"), at("13:48"))) == at("14:00")
    assert C.safe_until(at("14:00")) == at("13:48")
    assert C.safe_until(at("14:00") - 1) == at("13:47")
    assert C.safe_until(at("14:01") - 1) == at("13:48")
    assert C.safe_until(at("14:01")) == at("13:49")
    assert C.safe_until(at("14:02")) == at("13:50")


def test_the_formula_wins_over_the_designs_example() -> None:
    assert C.safe_at(Window(at("14:15"), at("14:16"))) == at("14:28")


@pytest.mark.parametrize(
    ("least", "greatest", "is_in"),
    [(0, 100, True), (0, 99, False), (199, 500, True), (200, 500, False), (120, 130, True), (0, 500, True)],
)
def test_a_file_overlaps_half_open_windows(least: int, greatest: int, is_in: bool) -> None:
    assert Window(100, 200).overlaps(least, greatest) is is_in


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
