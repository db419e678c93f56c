"""The newest earlier row: pure tables in, tables out."""

from __future__ import annotations

import random

import polars as pl
import pytest

from windrow.windowing.asof import NewestStep, WaitingStep, newest_earlier
from windrow.windowing.columns import FOREVER, TIME
from windrow.windowing.joins import HELD, ID, LEFT_ID, MARK, RIGHT_ID
from windrow.windowing.step import BatchTime, Tables, stack

KEYS = ("_j0",)


def rows(*given: tuple[int, str | None, int]) -> pl.DataFrame:
    """(number, key, time)."""
    return pl.DataFrame(
        {ID: [g[0] for g in given], "_j0": [g[1] for g in given], TIME: [g[2] for g in given], MARK: [False] * len(given)},
        schema={ID: pl.Int64, "_j0": pl.String, TIME: pl.Int64, MARK: pl.Boolean},
    )


def found(left: pl.DataFrame, right: pl.DataFrame | None, *, is_exclusive: bool = False) -> dict[int, int | None]:
    pairs = newest_earlier(left, right, KEYS, is_exclusive=is_exclusive)
    return dict(zip(pairs[LEFT_ID].to_list(), pairs[RIGHT_ID].to_list(), strict=True))


def test_the_latest_row_that_is_not_later() -> None:
    right = rows((0, "a", 10), (1, "a", 20), (2, "b", 15))
    left = rows((0, "a", 9), (1, "a", 10), (2, "a", 25), (3, "b", 30), (4, "c", 30), (5, None, 30))
    assert found(left, right) == {0: None, 1: 0, 2: 1, 3: 2, 4: None, 5: None}
    assert found(left, right, is_exclusive=True) == {0: None, 1: None, 2: 1, 3: 2, 4: None, 5: None}


def test_of_two_with_the_same_time_the_one_that_came_last() -> None:
    assert found(rows((0, "a", 10)), rows((0, "a", 10), (1, "a", 10))) == {0: 1}


def test_nothing_on_the_right() -> None:
    assert found(rows((0, "a", 10)), None) == {0: None}


@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_pruned_state_answers_as_all_rows_would(seed: int, is_exclusive: bool) -> None:
    chance = random.Random(seed)
    keys = ["a", "b", None]
    left_step, right_step = WaitingStep(KEYS, is_exclusive), NewestStep(KEYS, ())
    left_state: Tables = {}
    right_state: Tables = {}
    answers: dict[int, int | None] = {}
    all_left, all_right = rows(), rows()
    numbers, mark = 0, 0
    for turn in range(20):
        new_left = rows(*((numbers + i, chance.choice(keys), mark + chance.randrange(30)) for i in range(3)))
        new_right = rows(*((numbers + i, chance.choice(keys), mark + chance.randrange(30)) for i in range(3)))
        numbers += 3
        after = FOREVER if turn == 19 else mark + chance.randrange(12)
        tick = BatchTime(mark, after, 0)
        outcome = left_step.step(left_state, new_left, tick)
        if outcome.emissions is not None:
            answers.update(
                found(outcome.emissions, right_step.candidates(right_state, new_right, outcome.emissions), is_exclusive=is_exclusive)
            )
        left_state, right_state = outcome.state, right_step.step(right_state, new_right, tick).state
        all_left, all_right = stack([all_left, new_left]), stack([all_right, new_right])  # type: ignore[assignment]
        mark = after
    assert answers == found(all_left, all_right, is_exclusive=is_exclusive)
    newest = sum(table.height for name, table in right_state.items() if name != "moved")
    assert HELD not in right_state
    assert newest <= 2 * len(keys)


def test_a_key_that_is_null_is_kept_only_where_it_can_be_found() -> None:
    tick = BatchTime(None, 100, 0)
    assert NewestStep(KEYS, KEYS).step({}, rows((0, None, 10)), tick).state == {}
    assert NewestStep(KEYS, ()).step({}, rows((0, None, 10)), tick).state
