"""What a person sees of a batch, on a terminal and in a file."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from rich.console import Console

from windrow.connectors.console.runtime import ConsoleSink, use_console
from windrow.connectors.runtime import Output

NOON = dt.datetime(2026, 1, 1, 12, 0, 0, 123, tzinfo=dt.UTC)
TABLE = pa.table(
    {
        "symbol": ["ACME", None, "日本[red]"],
        "price": [1.5, 100.25, None],
        "at": pa.array([NOON, NOON.replace(microsecond=0), None], pa.timestamp("us", "UTC")),
        "note": ["x" * 50, "two\nlines\x1b[31m", ""],
    }
)
COLUMNS = ("symbol", "price", "at", "note")


@pytest.fixture
def printed() -> Iterator[io.StringIO]:
    file = io.StringIO()
    before = use_console(Console(file=file, width=80))
    yield file
    use_console(before)


def sink(*, as_json: bool = False, rows: int = 20, width: int = 12) -> ConsoleSink:
    return ConsoleSink("out", as_json, rows, width, now=lambda: NOON)


def test_plain_text_is_aligned_and_whole(printed: io.StringIO) -> None:
    sink(width=16).write(Output(3, COLUMNS, table=TABLE))
    assert printed.getvalue().split("\n") == [
        "out · batch 3 · 2026-01-01 12:00:00 UTC · 3 rows",
        "symbol      price  at                note",
        "---------  ------  ----------------  ----------------",
        "ACME          1.5  2026-01-01 12:0…  xxxxxxxxxxxxxxx…",
        "NULL       100.25  2026-01-01 12:0…  two\\nlines\\u001…",
        "日本[red]    NULL  NULL",
        "",
        "",
    ]


def test_times_show_fractions_only_if_there_are_any(printed: io.StringIO) -> None:
    sink(width=40).write(Output(3, ("at",), table=TABLE))
    lines = [line.strip() for line in printed.getvalue().splitlines()]
    assert lines[3:5] == ["2026-01-01 12:00:00.000123", "2026-01-01 12:00:00"]


def test_what_is_not_shown_is_counted(printed: io.StringIO) -> None:
    many = pa.table({"n": range(1236)})
    sink(rows=2).write(Output(0, ("n",), table=many))
    assert "... and 1,234 more rows" in printed.getvalue().splitlines()
    assert "1,236 rows" in printed.getvalue()
    sink(rows=1235).write(Output(0, ("n",), table=many))
    assert "... and 1 more row" in printed.getvalue().splitlines()


def test_nothing_is_printed_for_an_empty_batch(printed: io.StringIO) -> None:
    for as_json in (True, False):
        sink(as_json=as_json).write(Output(0, COLUMNS, table=TABLE.slice(0, 0)))
    assert printed.getvalue() == ""


def test_json_is_one_object_a_line_and_all_of_them(printed: io.StringIO) -> None:
    sink(as_json=True, rows=100).write(Output(0, COLUMNS, table=TABLE))
    lines = printed.getvalue().splitlines()
    assert [json.loads(line)["symbol"] for line in lines] == ["ACME", None, "日本[red]"]
    assert json.loads(lines[0])["note"] == "x" * 50


def test_unusual_emissions_are_named_and_coloured() -> None:
    table = pa.table({"n": [1, 2], "_emission": ["final", "late"]})
    file = io.StringIO()
    before = use_console(Console(file=file, force_terminal=True, color_system="standard", width=80))
    try:
        sink().write(Output(0, ("n",), table=table))
        sink().write(Output(1, ("n",), table=table.slice(0, 1)))
    finally:
        use_console(before)
    first, second = file.getvalue().split("batch 1")
    assert "_emission" in first
    assert any("late" in line and "\x1b[33m" in line for line in first.splitlines())
    assert "_emission" not in second, "final and change are what one expects"


def test_a_terminal_gets_no_escape_sequences_out_of_values() -> None:
    file = io.StringIO()
    before = use_console(Console(file=file, force_terminal=True, color_system=None, width=80))
    try:
        sink(width=40).write(Output(0, COLUMNS, table=TABLE))
    finally:
        use_console(before)
    assert "\x1b[31m" not in file.getvalue()
    assert "日本[red]" in file.getvalue(), "short columns stay whole where a long one has to give way"
    assert "2026-01-01 12:00:00.000123" in file.getvalue()
