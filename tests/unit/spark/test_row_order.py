"""Rows of a batch in the order of the input, whatever order their files came in."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from windrow.spark.operators.running_totals import in_order
from windrow.windowing.columns import SEQ

FILE = 1 << 33


@pytest.mark.parametrize("files", [[0, 1, 2], [2, 0, 1], [0, 2, 1, 3], [3, 1]], ids=str)
def test_whole_files_are_put_in_order(files: list[int]) -> None:
    places = [file * FILE + row for file in files for row in range(5)]
    rows = pa.table({SEQ: places, "v": list(range(len(places)))})
    found = in_order(rows)
    assert found[SEQ].to_pylist() == sorted(places)
    assert dict(zip(*(found[name].to_pylist() for name in (SEQ, "v")), strict=True)) == dict(zip(places, range(len(places)), strict=True))


def test_files_that_stand_in_each_other_are_sorted_row_by_row() -> None:
    chance = random.Random(4)
    places = list(range(100))
    chance.shuffle(places)
    assert in_order(pa.table({SEQ: places}))[SEQ].to_pylist() == list(range(100))
    apart = [*range(0, 100, 2), *range(1, 100, 2)]
    assert in_order(pa.table({SEQ: apart}))[SEQ].to_pylist() == list(range(100))


def test_no_rows_and_one_row_stay() -> None:
    assert in_order(pa.table({SEQ: pa.array([], pa.int64())})).num_rows == 0
    assert in_order(pa.table({SEQ: [7]}))[SEQ].to_pylist() == [7]
