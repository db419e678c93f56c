"""The table of a step's emissions: bounds as times, their order as a column."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest

from windrow.spark.operators.emissions import UTC_MICROS, emissions_table
from windrow.windowing.columns import COUNT, EMISSION, END, FOREVER, NEVER, REVISION, SEQ, START

SCHEMA = pa.schema([("_k0", pa.string()), ("s", pa.int32())])
DAY = datetime(1970, 1, 2, tzinfo=UTC)


def _emissions(starts: list[int], ends: list[int]) -> pl.DataFrame:
    height = len(starts)
    given = {"_k0": ["a"] * height, START: starts, END: ends, COUNT: [1] * height, "s": [5] * height}
    rest = {EMISSION: ["change"] * height, REVISION: [1] * height, SEQ: [9 - place for place in range(height)]}
    return pl.DataFrame({**given, **rest}, schema_overrides={START: pl.Int64, END: pl.Int64, REVISION: pl.Int32})


@pytest.mark.parametrize(
    ("starts", "ends", "bounds"),
    [
        ([0, 86_400_000_000], [86_400_000_000] * 2, [(datetime(1970, 1, 1, tzinfo=UTC), DAY), (DAY, DAY)]),
        ([NEVER, NEVER], [FOREVER, FOREVER], [(None, None)] * 2),
        ([86_400_000_000, NEVER], [FOREVER, 86_400_000_000], [(DAY, None), (None, DAY)]),
        ([], [], []),
    ],
    ids=["windows", "no windows", "some", "nothing"],
)
def test_the_ends_of_time_are_null(starts: list[int], ends: list[int], bounds: list[tuple[datetime | None, datetime | None]]) -> None:
    table = emissions_table(_emissions(starts, ends), SCHEMA)
    assert table.schema.field(START).type == table.schema.field(END).type == UTC_MICROS
    assert list(zip(table[START].to_pylist(), table[END].to_pylist(), strict=True)) == bounds
    assert table[SEQ].to_pylist() == list(range(len(starts)))
    assert table.schema.field("s").type == pa.int32()
    assert table.schema.field(EMISSION).type == pa.string()
