"""How much a batch takes when it is to last for a given time: played against a machine of a known speed."""

from __future__ import annotations

import random

from windrow.jobs.pacing import Pace


def _seconds(rows: int, *, overhead: float = 0.3, speed: float = 50_000) -> float:
    return overhead + rows / speed


def test_batches_come_to_last_as_long_as_was_asked_for_and_stay_there() -> None:
    chance = random.Random(3)
    pace = Pace(2.0, 10_000, 1_000_000)
    lasted = []
    for _ in range(40):
        lasted.append(_seconds(pace.limit) * chance.uniform(0.9, 1.1))
        pace.take(lasted[-1], pace.limit)
    assert all(1.4 < seconds < 2.6 for seconds in lasted[8:])


def test_a_machine_that_becomes_slow_is_given_less_at_once() -> None:
    pace = Pace(2.0, 80_000, 1_000_000)
    lasted = []
    for _ in range(6):
        lasted.append(_seconds(pace.limit, speed=5_000))
        pace.take(lasted[-1], pace.limit)
    assert lasted[0] > 16
    assert all(seconds < 2.6 for seconds in lasted[3:])


def test_a_trickle_does_not_open_the_gates() -> None:
    """Batches that are short because little came say nothing of what a full one would take."""
    pace = Pace(2.0, 10_000, None)
    for _ in range(20):
        pace.take(0.3, 50)
    assert pace.limit == 10_000


def test_the_users_own_limit_and_one_row_are_the_ends() -> None:
    pace = Pace(2.0, 10_000, 15_000)
    pace.take(0.1, 10_000)
    assert pace.limit == 15_000
    for _ in range(20):
        pace.take(100.0, 10_000)
    assert pace.limit == 1


def test_of_files_the_rows_tell_how_many_there_were() -> None:
    pace = Pace(2.0, 1, is_files=True)
    assert pace.take(0.1, 100)
    assert pace.limit == 2
    assert not pace.take(0.1, 100)
    assert pace.take(0.1, 190)
    assert pace.limit == 4
