"""Single rows run up to totals as Spark's windows would have them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import polars as pl
import pytest

from windrow.aggregates import find_aggregate
from windrow.model.accumulation import Accumulation
from windrow.model.expr import Call, Column
from windrow.model.window_kinds import Tumbling
from windrow.windowing.columns import COUNT, SEQ, SLICE, Layout
from windrow.windowing.emit_policy import EmitPolicy
from windrow.windowing.panes import PaneStep
from windrow.windowing.running import run_up
from windrow.windowing.step import BatchTime, Tables

Number = float | None


def _key(value: float) -> tuple[bool, float]:
    """NaN is greater than every number."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value)


FOLDS: dict[Accumulation, Callable[[list[float]], Number]] = {
    Accumulation.TOTAL: lambda seen: sum(seen, 0.0) if seen else None,
    Accumulation.LEAST: lambda seen: min(seen, key=_key) if seen else None,
    Accumulation.GREATEST: lambda seen: max(seen, key=_key) if seen else None,
}


@pytest.mark.parametrize("run", Accumulation)
@pytest.mark.parametrize("odd", [(), (None,), (math.nan,), (None, math.nan)], ids=str)
def test_each_row_has_the_total_of_its_pane_so_far(run: Accumulation, odd: tuple[Number, ...]) -> None:
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
    found = run_up(pl.DataFrame({"v": [-0.0, -0.0]}), [], {"v": Accumulation.TOTAL})["v"].to_list()
    assert [math.copysign(1, total) for total in found] == [1.0, 1.0]


def test_whole_numbers_stay_whole() -> None:
    frame = pl.DataFrame({"v": [1, None, 2]}, schema={"v": pl.Int64})
    assert run_up(frame, [], {"v": Accumulation.TOTAL})["v"].to_list() == [1, 1, 3]
    assert run_up(frame, [], {"v": Accumulation.LEAST}).schema["v"] == pl.Int64


def _layout(with_runs: bool) -> Layout:
    merges: list[pl.Expr] = []
    parts: list[str] = []
    runs: list[Accumulation] = []
    for slot, name in enumerate(("COUNT", "SUM", "MIN", "MAX", "AVG")):
        form = find_aggregate(Call(name, (Column("v"),)))
        assert form is not None
        columns = {part.name: f"_a{slot}_{part.name}" for part in form.parts}
        merges.extend(part.merge(columns) for part in form.parts)
        parts.extend(columns.values())
        runs.extend(part.run for part in form.parts if part.run is not None)
    assert len(runs) == len(parts)
    return Layout(("_k0",), tuple(merges), tuple(parts), tuple(runs) if with_runs else ())


def _told(state: Tables) -> dict[str, list[str]]:
    return {name: sorted(map(repr, table.select(sorted(table.columns)).rows())) for name, table in state.items()}


def test_rows_out_of_order_are_all_kept() -> None:
    step = PaneStep(_layout(True), EmitPolicy(every_row=True, on_close=False), Tumbling(10))
    parts: dict[str, list[float]] = {part: [1.0, 2.0] for part in step.layout.parts}
    rows = pl.DataFrame({"_k0": ["a", "a"], SLICE: [0, 0], SEQ: [2, 1], COUNT: [2, 1], **parts})
    taken = step.step({}, rows, BatchTime(None, None, 0))
    assert taken.lasting is None
    assert taken.emissions is not None
    assert taken.emissions[COUNT].to_list() == [1, 2]


@pytest.mark.parametrize("odd", [(), (None,), (math.nan,), (None, math.nan)], ids=str)
def test_totals_are_put_together_as_groups_are_merged(odd: tuple[Number, ...]) -> None:
    """Batch after batch, on what is held: by columns, and by merging."""
    chance = random.Random(str(odd))
    steps = [PaneStep(_layout(with_runs), EmitPolicy(every_row=True, on_close=False), Tumbling(10)) for with_runs in (True, False)]
    states: list[Tables] = [{}, {}]
    for batch in range(5):
        values = [chance.choice([*odd, *([chance.randrange(-9, 9) / 2] * 3)]) for _ in range(60)]
        counts = [0 if value is None else 1 for value in values]
        single = {"_a0_n": counts, "_a1_s": values, "_a2_m": values, "_a3_m": values, "_a4_s": values, "_a4_n": counts}
        frame = pl.DataFrame(
            {
                "_k0": [chance.choice(["a", "b", None]) for _ in values],
                SLICE: [10 * (batch + chance.randrange(2)) for _ in values],
                SEQ: range(len(values)),
                COUNT: [1] * len(values),
                **single,
            },
            schema_overrides={name: pl.Float64 for name in single if not name.endswith("_n")} | {"_k0": pl.String},
        )
        layout = steps[0].layout
        rows = run_up(frame, ("_k0", SLICE), {COUNT: Accumulation.TOTAL, **dict(zip(layout.parts, layout.runs, strict=True))})
        taken = [step.step(state, rows, BatchTime(None, None, batch)) for step, state in zip(steps, states, strict=True)]
        lasting = taken[0].lasting
        assert lasting is not None
        assert len(lasting) == rows.n_unique(["_k0", SLICE]) < rows.height
        again = steps[0].step(states[0], rows[lasting], BatchTime(None, None, batch)).state
        assert _told(again) == _told(taken[0].state), "the last row of each pane leads to the same state"
        states = [one.state for one in taken]
        ours, theirs = (one.emissions for one in taken)
        assert ours is not None
        assert theirs is not None
        assert repr(ours.rows()) == repr(theirs.select(ours.columns).rows())


def test_nan_is_the_greatest_of_all_batches() -> None:
    form = find_aggregate(Call("MAX", (Column("v"),)))
    assert form is not None
    merge = form.parts[0].merge({"m": "m"})
    found = pl.DataFrame({"m": [math.nan, 5.0]}).select(merge)["m"].to_list()
    assert math.isnan(found[0])
