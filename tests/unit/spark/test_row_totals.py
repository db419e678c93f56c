"""What the driver runs up: each column once, with the numbers of their panes."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from windrow.model.accumulation import Accumulation
from windrow.spark.operators.running_totals import RunningTotals
from windrow.spark.state.backend import without_carried, without_numbers
from windrow.windowing import numbering, running
from windrow.windowing.columns import COUNT, SEQ, SLICE
from windrow.windowing.numbering import PANE

# Ones, and what another column holds, do not come.
SOURCES = {"_k0": "_k0", SLICE: SLICE, SEQ: SEQ, COUNT: None, "_a0_n": None, "_a1_s": "_a1_s", "_a2_m": "_a1_s", "_a3_s": "_a1_s"}
RUNS = RunningTotals(
    ("_k0", SLICE),
    {
        COUNT: Accumulation.TOTAL,
        "_a0_n": Accumulation.TOTAL,
        "_a1_s": Accumulation.TOTAL,
        "_a2_m": Accumulation.LEAST,
        "_a3_s": Accumulation.TOTAL,
    },
    {},
)


def _kept() -> pa.Table:
    return pa.table(
        {
            "_k0": ["a", "b", None, "a", None],
            SLICE: [0, 0, 0, 10, 0],
            SEQ: [5, 4, 2, 1, 0],
            "_a1_s": pa.array([1, 2, 8, 16, None], pa.int64()),
        }
    )


@pytest.mark.parametrize("few", [0, 1000], ids=["numbered", "as they are"])
def test_rows_are_run_up_in_order(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(numbering, "_FEW", few)
    rows, numbers = without_numbers(RUNS.totals(_kept(), SOURCES))
    assert (numbers is None) == bool(few)
    assert rows.to_pydict() == {
        "_k0": [None, "a", None, "b", "a"],
        SLICE: [0, 10, 0, 0, 0],
        SEQ: [0, 1, 2, 4, 5],
        COUNT: [1, 1, 2, 1, 1],
        "_a0_n": [1, 1, 2, 1, 1],
        "_a1_s": [None, 16, 8, 2, 1],
        "_a2_m": [None, 16, 8, 2, 1],
        "_a3_s": [None, 16, 8, 2, 1],
    }
    assert not rows.schema.field(COUNT).nullable
    if numbers is not None:
        assert numbers.name == PANE
        assert numbers[0] == numbers[2]
        assert len(set(numbers)) == 4
    assert without_carried(rows)[0].equals(rows)


def test_what_holds_the_same_and_runs_up_alike_is_run_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run_ups: list[Accumulation] = []
    total = running._total

    def noting(values: pl.Series, run: Accumulation) -> pl.Expr:
        run_ups.append(run)
        return total(values, run)

    monkeypatch.setattr(running, "_total", noting)
    RUNS.totals(_kept(), SOURCES)
    assert run_ups == [Accumulation.TOTAL, Accumulation.LEAST]
