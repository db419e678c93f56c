"""Single rows run up to totals as Spark's windows would have them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import polars as pl
import pytest

from windrow.model.running import Run
from windrow.windowing.running import run_up

Number = float | None


def _key(value: float) -> tuple[bool, float]:
    """NaN is greater than every number."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value)


FOLDS: dict[Run, Callable[[list[float]], Number]] = {
    Run.TOTAL: lambda seen: sum(seen, 0.0) if seen else None,
    Run.LEAST: lambda seen: min(seen, key=_key) if seen else None,
    Run.GREATEST: lambda seen: max(seen, key=_key) if seen else None,
}


@pytest.mark.parametrize("run", Run)
@pytest.mark.parametrize("odd", [(), (None,), (math.nan,), (None, math.nan)], ids=str)
def test_each_row_has_the_total_of_its_pane_so_far(run: Run, odd: tuple[Number, ...]) -> None:
    chance = random.Random(f"{run}{odd}")
    # Halves, so that no sum is rounded.
    values = [chance.choice([*odd, *([chance.randrange(-9, 9) / 2] * 3)]) for _ in range(400)]
    keys = [chance.choice(["a", "b", None]) for _ in values]
    frame = pl.DataFrame({"k": keys, "v": values}, schema={"k": pl.String, "v": pl.Float64})
    found = run_up(frame, ["k"], {"v": run})["v"].to_list()
    seen: dict[str | None, list[float]] = {}
    for key, value, total in zip(keys, values, found, strict=True):
        seen.setdefault(key, []).extend([] if value is None else [value])
        wanted = FOLDS[run](seen[key])
        assert repr(total) == repr(wanted), (key, value)


def test_a_negative_zero_adds_up_to_zero() -> None:
    found = run_up(pl.DataFrame({"v": [-0.0, -0.0]}), [], {"v": Run.TOTAL})["v"].to_list()
    assert [math.copysign(1, total) for total in found] == [1.0, 1.0]


def test_whole_numbers_stay_whole() -> None:
    frame = pl.DataFrame({"v": [1, None, 2]}, schema={"v": pl.Int64})
    assert run_up(frame, [], {"v": Run.TOTAL})["v"].to_list() == [1, 1, 3]
    assert run_up(frame, [], {"v": Run.LEAST}).schema["v"] == pl.Int64
