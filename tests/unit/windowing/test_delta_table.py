"""The table that is changed without being rewritten behaves like a dictionary of rows by unit."""

from __future__ import annotations

from random import Random

import polars as pl

from windrow.windowing.delta_table import BASE, MOVED, RECENT, DeltaTable

SCHEMA = {"k": pl.String, "s": pl.Int64, "v": pl.Int64}
Held = dict[tuple[str | None, int], int]


def rows_of(held: Held) -> pl.DataFrame:
    return pl.DataFrame([(*unit, value) for unit, value in held.items()], schema=SCHEMA, orient="row")


def held_by(frame: pl.DataFrame | None) -> Held:
    return {} if frame is None else {(k, s): v for k, s, v in frame.rows()}


def test_it_holds_what_a_dictionary_would() -> None:
    random = Random(7)
    held: Held = {}
    tables: dict[str, pl.DataFrame] = {}
    seen = set()
    for turn in range(300):
        delta = DeltaTable.of(tables, ("k", "s"))
        units = {(random.choice(["a", "b", None]), random.randrange(30)) for _ in range(random.randrange(4))}
        taken, delta = delta.take(rows_of(dict.fromkeys(units, 0)).select("k", "s"))
        assert held_by(taken) == {unit: held[unit] for unit in units if unit in held}
        changed = dict.fromkeys((unit for unit in units if random.random() < 0.8), turn)
        held = {unit: value for unit, value in held.items() if unit not in units} | changed
        delta = delta.put(rows_of(changed))
        if turn % 17 == 0:
            least = random.randrange(turn + 1) // 2
            delta, held = delta.keep(pl.col("v") >= least), {unit: value for unit, value in held.items() if value >= least}
        assert held_by(delta.everything()) == held
        assert held_by(delta.where(pl.col("s") < 9)) == {unit: value for unit, value in held.items() if unit[1] < 9}
        tables = delta.tables()
        seen |= {frozenset(tables)}
    assert frozenset({BASE, RECENT, MOVED}) in seen, "the three tables were in use at some time"


def test_without_unit_columns_everything_is_one_unit() -> None:
    rows = pl.DataFrame({"v": [1, 2]})
    taken, left = DeltaTable((), base=rows).take(pl.DataFrame())
    assert taken is not None
    assert taken.equals(rows)
    assert left.everything() is None


def test_the_large_table_is_handed_on_and_not_copied() -> None:
    large = rows_of({("a", s): s for s in range(1000)})
    taken, delta = DeltaTable(("k", "s"), base=large).take(large.head(3).select("k", "s"))
    assert taken is not None
    tables = delta.put(taken.with_columns(pl.col("v") + 1)).tables()
    assert tables[BASE] is large
    assert (tables[RECENT].height, tables[MOVED].height) == (3, 3)
