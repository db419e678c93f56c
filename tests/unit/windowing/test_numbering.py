"""Panes get small numbers: the same for the rows of one pane, and what is asked by number is what is asked by pane."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

from windrow.model.accumulation import Accumulation
from windrow.model.window_kinds import Tumbling
from windrow.windowing import numbering
from windrow.windowing.columns import COUNT, SEQ, SLICE, Layout
from windrow.windowing.emit_policy import WHEN, EmitPolicy
from windrow.windowing.numbering import PANE, by_number, last_rows, pane_numbers
from windrow.windowing.panes import PaneStep
from windrow.windowing.running import none_yet, put_together, run_up
from windrow.windowing.step import BatchTime, Tables

KEYS: dict[str, list[object]] = {
    "texts": ["a", "b", "ab", "", None],
    "near numbers": [-3, 5, 0, None],
    "far numbers": [-(1 << 63), (1 << 63) - 1, 0, None],
    "no numbers": [None],
    "days": [date(1969, 1, 1), date(2024, 2, 29), None],
    "times": [datetime(1969, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), None],
}
LEFT: dict[str, list[object]] = {
    "fractions": [0.0, -0.0, math.nan, 1.5, None],
    "yes and no": [True, False, None],
    "decimals": [Decimal("1.5"), Decimal("1.50"), None],
    "bytes": [b"a", b"", None],
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "_FEW", 0)


def _drawn(seed: object, *values: list[object], rows: int = 300) -> pl.DataFrame:
    chance = random.Random(str(seed))
    drawn = pl.DataFrame({f"_k{place}": [chance.choice(some) for _ in range(rows)] for place, some in enumerate(values)})
    return drawn.with_columns(pl.col(pl.Null).cast(pl.Int64))


def _as_spark_gives_it(rows: pl.DataFrame) -> pa.Table:
    """In many small batches, with offsets of four bytes."""
    table = rows.to_arrow()
    fields = [field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field for field in table.schema]
    return pa.Table.from_batches(table.cast(pa.schema(fields)).to_batches(max_chunksize=7))


def test_texts_of_the_second_share_alone_have_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "_MANY", 2)
    rows = pl.DataFrame({"_k0": ["a", None, "b", "a", "c", None, "b", "d", "c", "a"] * 4}).head(30)
    halves = pl.concat([rows.filter(pl.col("_k0").is_in(["a", None], nulls_equal=True)), rows.filter(pl.col("_k0").is_in(["b", "c", "d"]))])
    numbers = pane_numbers(halves, ("_k0",))
    assert numbers is not None
    assert _first_seen(numbers.to_list()) == _first_seen(halves["_k0"].to_list())


def test_a_share_of_nulls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "_MANY", 2)
    for values in ([None] * 10 + ["a"] * 10, ["a"] * 10 + [None] * 10, [None] * 20):
        numbers = pane_numbers(pl.DataFrame({"_k0": pl.Series(values, dtype=pl.String)}), ("_k0",))
        assert numbers is not None
        assert _first_seen(numbers.to_list()) == _first_seen(values)


def _first_seen(values: Sequence[object]) -> list[int]:
    """Two lists tell rows apart in the same way if these are equal."""
    first: dict[object, int] = {}
    return [first.setdefault(value, place) for place, value in enumerate(values)]


@pytest.mark.parametrize("many", [2, 1000], ids=["in shares", "at once"])
@pytest.mark.parametrize("is_arrow", [False, True])
@pytest.mark.parametrize("one", KEYS)
@pytest.mark.parametrize("other", KEYS)
def test_rows_of_one_pane_and_no_others_have_a_number(
    one: str, other: str, is_arrow: bool, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "_MANY", many)
    rows = _drawn(one + other, KEYS[one], KEYS[other])
    numbers = pane_numbers(_as_spark_gives_it(rows) if is_arrow else rows, ("_k0", "_k1"))
    assert numbers is not None
    assert numbers.null_count() == 0
    assert numbers.dtype == pl.UInt32
    assert _first_seen(numbers.to_list()) == _first_seen(rows.rows())
    assert max(numbers) < 2 * rows.height


@pytest.mark.parametrize("kind", LEFT)
def test_what_polars_may_take_for_equal_is_left_to_it(kind: str) -> None:
    assert pane_numbers(_drawn(kind, KEYS["texts"], LEFT[kind]), ("_k0", "_k1")) is None


def test_texts_that_are_all_null_are_one_pane() -> None:
    rows = pl.DataFrame({"_k0": [None] * 50, SLICE: [0, 60_000_000] * 25}, schema={"_k0": pl.String, SLICE: pl.Int64})
    assert pane_numbers(rows, ("_k0", SLICE)).to_list() == [0, 1] * 25  # type: ignore[union-attr]


def test_numbers_of_narrow_types_do_not_overflow() -> None:
    rows = pl.DataFrame({"_k0": pl.Series([-128, 127, 0] * 100, dtype=pl.Int8)})
    assert pane_numbers(rows, ("_k0",)).to_list() == [0, 255, 128] * 100  # type: ignore[union-attr]


def test_panes_that_are_far_more_than_rows_have_no_numbers() -> None:
    many = {name: [f"{name}{n % 15}" for n in range(40)] for name in "ab"}
    assert pane_numbers(pl.DataFrame(many), ("a", "b")) is None
    assert pane_numbers(pl.DataFrame(many), ("a",)) is not None
    assert pane_numbers(pl.DataFrame({"a": [str(n) for n in range(40)]}), ("a",)) is None
    assert pane_numbers(pl.DataFrame({"a": [n << 40 for n in range(2000)]}), ("a",)) is None


def test_no_keys_and_few_rows_have_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _drawn(1, ["a"])
    assert pane_numbers(rows, ()) is None
    assert pane_numbers(rows, ("_k0",)) is not None
    monkeypatch.setattr(numbering, "_FEW", rows.height + 1)
    assert pane_numbers(rows, ("_k0",)) is None


def test_the_last_row_of_each_pane_comes_in_order() -> None:
    assert last_rows(pl.Series([4, 0, 4, 2, 0], dtype=pl.UInt32)).to_list() == [2, 3, 4]
    assert last_rows(pl.Series([], dtype=pl.UInt32)).to_list() == []


def test_what_is_held_stands_at_its_number() -> None:
    table = pl.DataFrame({PANE: [3, 0], "v": ["x", "y"]}, schema_overrides={PANE: pl.UInt32})
    assert by_number(table, 5)["v"].to_list() == ["y", None, None, "x", None]


@pytest.mark.parametrize("run", Accumulation)
@pytest.mark.parametrize("type_", [pl.Int8(), pl.Int64(), pl.Float32(), pl.Float64()], ids=str)
def test_what_stands_for_no_total_leaves_a_number_as_it_is(run: Accumulation, type_: pl.DataType) -> None:
    numbers = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5] if type_.is_float() else [0, 127, -128]
    frame = pl.DataFrame({"b": numbers}, schema={"b": type_}).with_columns(none_yet(type_, run).alias("a"))
    assert frame.schema["a"] == type_
    found = frame.select(put_together(frame["a"], frame["b"], run).alias("t"))["t"].to_list()
    assert repr(found) == repr(numbers)


SPEECHES = {
    "every row": EmitPolicy(every_row=True),
    "every batch": EmitPolicy(per_batch=True),
    "at its close": EmitPolicy(on_close=True),
    "every third row": EmitPolicy(every_records=3, on_close=True),
    "when a row says so": EmitPolicy(when=True, on_close=True),
    "now and then": EmitPolicy(interval=2, on_close=True),
    "once": EmitPolicy(once=True),
}
LAYOUT = Layout(("_k0", "_k1"), (pl.col("s").sum(), pl.col("m").max()), ("s", "m"), (Accumulation.TOTAL, Accumulation.GREATEST))


def _batch(chance: random.Random, batch: int, keys: list[object]) -> pl.DataFrame:
    height = 80
    values = [chance.choice([None, -0.0, 1.5, -2.5]) for _ in range(height)]
    rows = pl.DataFrame(
        {
            "_k0": [chance.choice(["a", "b", None]) for _ in range(height)],
            "_k1": [chance.choice(keys) for _ in range(height)],
            SLICE: [10 * (batch + chance.randrange(2)) for _ in range(height)],
            SEQ: range(height),
            COUNT: [1] * height,
            "s": [0.0 if batch % 2 and value is None else value for value in values],
            "m": values,
            WHEN: [chance.random() < 0.2 for _ in range(height)],
        }
    )
    return run_up(rows, ("_k0", "_k1", SLICE), {COUNT: Accumulation.TOTAL, "s": Accumulation.TOTAL, "m": Accumulation.GREATEST})


def _told(state: Tables) -> dict[str, list[str]]:
    return {name: sorted(map(repr, table.select(sorted(table.columns)).rows())) for name, table in state.items()}


@pytest.mark.parametrize("emit_policy", SPEECHES)
@pytest.mark.parametrize("runs", [LAYOUT.runs, ()], ids=["added up", "merged"])
@pytest.mark.parametrize("keys", [[1, 2, None], [0.0, -0.0, math.nan, None]], ids=["whole", "fractions"])
@pytest.mark.parametrize("size", [10, None], ids=str)
def test_numbers_change_nothing_that_is_said_or_held(
    monkeypatch: pytest.MonkeyPatch, emit_policy: str, runs: tuple[Accumulation, ...], keys: list[object], size: int | None
) -> None:
    step = PaneStep(
        Layout(LAYOUT.keys, LAYOUT.merges, LAYOUT.parts, runs), SPEECHES[emit_policy], None if size is None else Tumbling(size), lateness=10
    )
    chance = random.Random(f"{emit_policy}{keys}")
    ours: Tables = {}
    theirs: Tables = {}
    for batch in range(5):
        rows, tick = _batch(chance, batch, keys), BatchTime(10 * batch - 10, 10 * batch, batch)
        if size is None:
            rows = rows.with_columns(pl.lit(0, pl.Int64).alias(SLICE))
        monkeypatch.setattr(numbering, "_FEW", 0)
        numbers = pane_numbers(rows, ("_k0", "_k1", SLICE))
        assert (numbers is None) == (keys[0] == 0.0)
        # Numbers that rows come with, in whatever order these come, and numbers that the step gives them.
        given = rows if numbers is None or batch % 2 else rows.with_columns(numbers).sort(SEQ, descending=True)
        numbered = step.step(ours, given, tick)
        monkeypatch.setattr(numbering, "_FEW", 1 << 30)
        plain = step.step(theirs, rows, tick)
        assert _told(numbered.state) == _told(plain.state)
        assert PANE not in {name for table in numbered.state.values() for name in table.columns}
        assert repr(None if numbered.emissions is None else numbered.emissions.rows(named=True)) == repr(
            None if plain.emissions is None else plain.emissions.rows(named=True)
        )
        if numbered.lasting is not None and plain.lasting is not None:
            assert numbered.lasting.to_list() == plain.lasting.to_list()
        ours, theirs = numbered.state, plain.state
