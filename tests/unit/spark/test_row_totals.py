"""What the driver runs up: the rows that were kept, each column once, with the numbers of their panes."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from windrow.model.fate import Fate
from windrow.model.running import Run
from windrow.spark.feeds import with_left_out
from windrow.spark.home import without_carried, without_numbers
from windrow.spark.row_runs import RowRuns
from windrow.windowing import numbering, running
from windrow.windowing.columns import COUNT, SEQ, SLICE
from windrow.windowing.numbering import PANE

# As the executors send them: ones, and what another column holds, do not come.
SOURCES = {
    "_k0": "_k0", SLICE: SLICE, "_judged": "_judged", "_row": "_row", SEQ: SEQ, COUNT: None, "_rows": None,
    "_a0_n": None, "_a1_s": "_a1_s", "_a2_m": "_a1_s", "_a3_s": "_a1_s", "_clock0": "_clock0",
}  # fmt: skip
RUNS = RowRuns(
    ("_k0", SLICE),
    {COUNT: Run.TOTAL, "_a0_n": Run.TOTAL, "_a1_s": Run.TOTAL, "_a2_m": Run.LEAST, "_a3_s": Run.TOTAL},
    {},
)


def _fed() -> pa.Table:
    return pa.table(
        {
            "_k0": ["a", "b", "a", None, "a", None],
            SLICE: [0, 0, 0, 0, 10, 0],
            "_judged": [0, 0, Fate.LATE.value, 0, 0, 0],
            "_row": pa.array([None, None, "late", None, None, None], pa.string()),
            SEQ: [5, 4, 3, 2, 1, 0],
            "_a1_s": pa.array([1, 2, 4, 8, 16, None], pa.int64()),
            "_clock0": [1, 2, 3, 4, 5, 6],
        }
    )


@pytest.mark.parametrize("few", [0, 1000], ids=["numbered", "as they are"])
def test_rows_are_run_up_in_order_without_those_set_aside(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(numbering, "_FEW", few)
    kept = RUNS.kept(_fed(), SOURCES)
    assert kept is not None
    assert set(kept.column_names) == {"_k0", SLICE, SEQ, "_a1_s"}, "nothing is copied that nobody asks for"
    rows, numbers = without_numbers(RUNS.totals(kept, SOURCES))
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
    run_ups: list[Run] = []
    total = running._total

    def noting(values: pl.Series, run: Run) -> pl.Expr:
        run_ups.append(run)
        return total(values, run)

    monkeypatch.setattr(running, "_total", noting)
    kept = RUNS.kept(_fed(), SOURCES)
    assert kept is not None
    RUNS.totals(kept, SOURCES)
    assert run_ups == [Run.TOTAL, Run.LEAST]


def test_rows_that_were_all_set_aside_are_none() -> None:
    fed = _fed()
    assert RUNS.kept(fed.set_column(2, "_judged", [[1] * 6]), SOURCES) is None


def test_columns_that_were_left_out_come_back() -> None:
    whole = with_left_out(_fed(), SOURCES)
    assert whole.column_names == list(SOURCES)
    assert whole["_a2_m"].equals(whole["_a1_s"])
    assert whole["_rows"].to_pylist() == [1] * 6
