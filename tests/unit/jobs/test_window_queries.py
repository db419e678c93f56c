"""Queries over single windows: what they are told, what they see, what is kept, and that a failure stays in its window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.otap.files import at, attribute, log, write
from windrow.errors import UsageError
from windrow.jobs.window_queries import CACHED, DONE, Views, WindowQuery, WindowResult, WindowTables, run_query
from windrow.otap.discovery import Discovery, TimeRule
from windrow.otap.footers import FooterCache
from windrow.otap.layout import Base
from windrow.otap.timing import Timing, Window

BOUNDS = Window(at("13:46:00"), at("13:50:00"))


class Engine:
    """Answers with the ids of the logs that a query sees; fails in one window."""

    def __init__(self, fails_in: str = "") -> None:
        self.asked: list[str] = []
        self.fails_in = fails_in
        self.columns = ["_part_id", "id"]

    def __call__(self, sql: str, views: Views, parameters: Mapping[str, Any]) -> pa.Table:
        self.asked.append(sql)
        if self.fails_in and self.fails_in in sql:
            raise RuntimeError("\nno such column\nand much more")
        assert parameters == {"least": 17}
        return views["logs"].select(self.columns)


def run(folder: Path, engine: Engine, sql: str = "FROM logs {window_start_ns}", cache: Path | None = None) -> list[WindowResult]:
    query = WindowQuery(sql, {"least": 17})
    base, timing = Base(str(folder)), Timing()
    tables = WindowTables(base, Discovery(base, FooterCache(), timing, TimeRule()), timing, query.tables, "partition_unique")
    return list(run_query(query, tables, BOUNDS, engine, cache))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for part in ("A", "B"):
        write(tmp_path / "data", "logs", [log(at("13:46:30") + n * 60 * 10**9, n) for n in range(3)], part)
        write(tmp_path / "data", "log_attrs", [attribute(n, "n", str(n)) for n in range(3)], part)
    return tmp_path / "data"


def test_each_window_is_asked_by_itself_and_sees_its_rows_only(data: Path) -> None:
    engine = Engine()
    results = run(data, engine)
    assert [one.window.start for one in results] == [at("13:46"), at("13:47"), at("13:48")]
    assert engine.asked == [f"FROM logs {start}" for start in (at("13:46"), at("13:47"), at("13:48"))]
    assert [one.rows.to_pylist() for one in results if one.rows is not None][1] == [{"_part_id": "A", "id": 1}, {"_part_id": "B", "id": 1}]


def test_results_are_kept_by_window_files_and_query(data: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = run(data, Engine(fails_in=str(at("13:48"))), cache=cache)
    engine = Engine()
    again = run(data, engine, cache=cache)
    assert [one.state for one in again] == [CACHED, CACHED, DONE], "a failure is not kept"
    assert again[0].rows is not None
    assert again[0].rows.equals(first[0].rows)
    assert {one.state for one in run(data, Engine(), "FROM logs {window_end_ns}", cache)} == {DONE}
    write(data, "logs", [log(at("13:47:31"), 7)], "A", "part-y.parquet")
    assert [one.state for one in run(data, Engine(), cache=cache)] == [CACHED, DONE, CACHED]
    next(cache.glob("*.parquet")).write_bytes(b"torn")
    assert sorted(one.state for one in run(data, Engine(), cache=cache)) in ([CACHED, CACHED, CACHED], [CACHED, CACHED, DONE])


def test_a_name_that_nothing_stands_for_is_refused_at_once(data: Path) -> None:
    engine = Engine()
    with pytest.raises(UsageError, match=r"a query has no \{window_start\}") as caught:
        run(data, engine, "FROM logs WHERE {window_start}")
    assert (caught.value.code, engine.asked) == ("WR886", [])
