"""Rows that come one by one: as little of each as will do, and everything that is booked made of that."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import windrow
from windrow.model.fate import Fate
from windrow.plan.physical.aggregations import runs_of
from windrow.plan.stages import Aggregate
from windrow.spark.operators.partial_aggregation import PartialAggregation
from windrow.spark.operators.single_rows import SingleRows, without
from windrow.windowing.columns import COUNT, SEQ, SLICE

MINUTE = 60_000_000


def _stage(clauses: str) -> Aggregate:
    sql = f"""CREATE STREAM t (k STRING, v BIGINT, p BOOLEAN) WITH ('connector' = 'generator');
    SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k {clauses}"""
    stages = windrow.compile(sql).plan.jobs[0].stages
    return next(stage for stage in stages if isinstance(stage, Aggregate))


def _asked(clauses: str, partitions: tuple[int, ...] = (0,), *, is_direct: bool = True) -> SingleRows:
    stage = _stage(clauses)
    types = dict.fromkeys(runs_of(stage) or {}, "bigint")
    return SingleRows(stage, PartialAggregation("rows", ("k", "v", SEQ), 0, None, partitions, is_direct=is_direct, row_types=types))


def _sent(rows: SingleRows) -> set[str]:
    """The names of the columns that the outermost SELECT gives."""
    outermost = rows.sql[: _end_of_list(rows.sql)]
    while (flat := re.sub(r"\([^()]*\)", "", outermost)) != outermost:
        outermost = flat
    return set(re.findall(r" AS (\w+)(?=,|$)", outermost))


def _end_of_list(sql: str) -> int:
    depth = 0
    for place, letter in enumerate(sql):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and sql.startswith(" FROM (", place):
            return place
    raise AssertionError(sql)


def _fed(columns: dict[str, Any], aside: list[str | None]) -> pa.Table:
    rows = len(aside)
    texts = {"_k0": pa.array(["a"] * rows), SEQ: list(range(rows)), "_a1_s": list(range(rows)), "_aside": pa.array(aside, pa.string())}
    return pa.table({**texts, **columns})


LATE = f'{Fate.LATE.value} {{"k": "a b"}}'


def test_a_time_stands_for_window_and_clock() -> None:
    rows = _asked("WINDOW TUMBLING(1m) EMIT CHANGES")
    assert _sent(rows) == {"_k0", SEQ, "_a1_s", "_aside", "_t"}
    assert rows.sources == {"_k0": "_k0", SLICE: SLICE, SEQ: SEQ, COUNT: None, "_a0_n": None, "_a1_s": "_a1_s"}
    fed = _fed({"_t": [-1, MINUTE, 7, 3 * MINUTE + 5]}, [None, None, LATE, None])
    kept = rows.kept(fed)
    assert kept is not None
    assert kept.to_pydict() == {"_k0": ["a"] * 3, SEQ: [0, 1, 3], "_a1_s": [0, 1, 3], SLICE: [-MINUTE, MINUTE, 3 * MINUTE]}
    fates = rows.fates(fed).to_pylist()
    assert fates == [
        {"_clock0": 3 * MINUTE + 5, "_rows": 3, "_judged": 0, "_row": ""},
        {"_clock0": 7, "_rows": 1, "_judged": Fate.LATE.value, "_row": '{"k": "a b"}'},
    ]


def test_a_batch_without_rows_has_nothing_to_book() -> None:
    rows = _asked("WINDOW TUMBLING(1m) EMIT CHANGES")
    fed = _fed({"_t": pa.array([], pa.int64())}, [])
    assert rows.kept(fed) is None
    assert rows.fates(fed).num_rows == 0


def test_an_offset_moves_windows() -> None:
    rows = _asked("WINDOW TUMBLING(1m, OFFSET 10s) EMIT CHANGES")
    kept = rows.kept(_fed({"_t": [0, 10_000_000]}, [None, None]))
    assert kept is not None
    assert kept[SLICE].to_pylist() == [10_000_000 - MINUTE, 10_000_000]


def test_rows_that_were_all_set_aside_are_none() -> None:
    rows = _asked("WINDOW TUMBLING(1m) EMIT CHANGES")
    fed = _fed({"_t": pa.array([None, 3], pa.int64())}, [f"{Fate.NO_EVENT_TIME.value} {{}}", f"{Fate.FILTERED.value} "])
    assert rows.kept(fed) is None
    assert rows.fates(fed).to_pylist() == [
        {"_clock0": None, "_rows": 1, "_judged": Fate.NO_EVENT_TIME.value, "_row": "{}"},
        {"_clock0": 3, "_rows": 1, "_judged": Fate.FILTERED.value, "_row": ""},
    ]


def test_a_row_far_ahead_moves_no_clock() -> None:
    rows = _asked("WINDOW TUMBLING(1m) EMIT CHANGES")
    fates = rows.fates(_fed({"_t": [1, 99]}, [None, f"{Fate.FUTURE.value} {{}}"]))
    assert fates["_clock0"].to_pylist() == [1, None]


@pytest.mark.parametrize(("partitions", "is_direct"), [((0, 1), True), ((0,), False)])
def test_rows_say_their_partition_where_there_may_be_several(partitions: tuple[int, ...], is_direct: bool) -> None:
    rows = _asked("WINDOW TUMBLING(1m) EMIT CHANGES", partitions, is_direct=is_direct)
    assert "_source_partition" in _sent(rows)
    fates = rows.fates(_fed({"_t": [5, 9, 7], "_source_partition": [0, 1, 0]}, [None, None, None])).to_pylist()
    expected = {"_clock0": 7, "_clock1": 9}
    assert fates == [{**{f"_clock{p}": expected[f"_clock{p}"] for p in partitions}, "_rows": 3, "_judged": 0, "_row": ""}]


def test_rows_are_booked_by_window_where_some_may_correct_one() -> None:
    rows = _asked("WINDOW TUMBLING(1m) ALLOWED_LATENESS 1m EMIT CHANGES")
    fates = rows.fates(_fed({"_t": [5, MINUTE, 7]}, [None, None, None])).sort_by(SLICE)
    assert fates[SLICE].to_pylist() == [0, MINUTE]
    assert fates["_rows"].to_pylist() == [2, 1]
    assert fates["_clock0"].to_pylist() == [7, MINUTE]


def test_groups_without_a_window_have_one_pane() -> None:
    rows = _asked("EMIT CHANGES", partitions=())
    assert _sent(rows) == {"_k0", SEQ, "_a1_s", "_aside"}
    kept = rows.kept(_fed({}, [None, None]))
    assert kept is not None
    assert kept[SLICE].to_pylist() == [0, 0]


@pytest.mark.parametrize(
    "clauses",
    ["WINDOW SLIDING(2m, 1m) EMIT CHANGES", "WINDOW TUMBLING(1m) LATE_DATA_STRATEGY INCLUDE_IN_NEXT EMIT CHANGES"],
    ids=["sliding", "include in next"],
)
def test_a_window_that_the_time_does_not_tell_comes_with_the_row(clauses: str) -> None:
    assert SLICE in _sent(_asked(clauses))


def test_clocks_that_a_predicate_moves_come_with_the_row() -> None:
    rows = _asked("WINDOW TUMBLING(1m) WITH WATERMARK PUNCTUATED(p) EMIT CHANGES")
    assert "_clock0" in _sent(rows)
    fed = _fed({"_t": [5, 6], "_clock0": pa.array([None, 6], pa.int64())}, [None, None])
    assert rows.fates(fed)["_clock0"].to_pylist() == [6]


@pytest.mark.parametrize("rows", [10, 5000])
def test_few_or_many_may_be_left_out(rows: int) -> None:
    table = pa.table({"v": list(range(rows))})
    for left_out in ([], [0], [rows - 1], [3, 4]):
        flags = pa.chunked_array([[place in left_out for place in range(rows)]])
        assert without(table, flags)["v"].to_pylist() == [place for place in range(rows) if place not in left_out]
    assert without(table, pa.chunked_array([[True] * rows])).num_rows == 0
