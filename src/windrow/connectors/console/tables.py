"""One batch as a table: with lines and colours on a terminal, as plain aligned text everywhere else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from windrow.connectors.encoding import in_micros, is_nested, json_spelling

NULL = "NULL"
_DIGITS = 7
# Beyond this a double has no digits after the point that mean anything.
_EXACT = 1e13
_STYLES = {"late": "yellow", "early": "cyan", "retract": "red"}


@dataclass(frozen=True)
class Page:
    """What is printed for one batch. ``kinds`` is the ``_emission`` of each row, or None."""

    statement: str
    batch_id: int
    at: datetime
    table: pa.Table
    kinds: tuple[str | None, ...]
    total: int
    width: int

    @property
    def title(self) -> str:
        rows = "1 row" if self.total == 1 else f"{self.total:,} rows"
        return f"{self.statement} · batch {self.batch_id} · {show_time(self.at.astimezone(UTC).replace(microsecond=0))} UTC · {rows}"

    @property
    def rest(self) -> str | None:
        more = self.total - self.table.num_rows
        return None if more <= 0 else "... and 1 more row" if more == 1 else f"... and {more:,} more rows"


def print_page(page: Page, console: Console) -> None:
    names, right, cells = _cells(page)
    if console.is_terminal:
        _print_lined(page, console, names, right, cells)
    else:
        for line in _plain_lines(page, names, right, cells):
            console.print(line, markup=False, highlight=False, soft_wrap=True, emoji=False)


def shown_cells(table: pa.Table, width: int = 40) -> tuple[list[str], list[bool], list[list[str | None]]]:
    """Names, whether a column is right-aligned, and the shown values row by row (None for NULL), each no wider than ``width``."""
    return _cells(Page("", 0, datetime.now(UTC), table, (None,) * table.num_rows, table.num_rows, width))


def plain_table(table: pa.Table, width: int = 40) -> list[str]:
    """The lines of a table as plain text, its head first."""
    names, right, cells = shown_cells(table, width)
    return _aligned(names, right, cells)


def show_time(value: datetime) -> str:
    """
    >>> show_time(datetime(2026, 1, 1, 0, 0, 10)), show_time(datetime(2026, 1, 1, 0, 0, 10, 500000))
    ('2026-01-01 00:00:10', '2026-01-01 00:00:10.5')
    """
    text = value.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
    return text.rstrip("0").rstrip(".")


def show_value(type_: pa.DataType) -> Callable[[Any], str]:
    """How a non-null value of a type is shown to a person."""
    if pa.types.is_timestamp(type_):
        return show_time
    if is_nested(type_):
        return json_spelling(type_)
    if pa.types.is_decimal(type_):
        return lambda value: format(value, "f")
    if pa.types.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if pa.types.is_floating(type_):
        spell = json_spelling(type_)
        return lambda value: spell(_rounded(value)).strip('"')
    return _show_plain


def _rounded(value: float) -> float:
    """A number with as many digits as a person reads: seven, and two after the point of larger ones. Sinks get all of them.

    >>> _rounded(0.0033333333333333335), _rounded(0.1 + 0.2), _rounded(1234567.891), _rounded(2.5)
    (0.003333333, 0.3, 1234567.89, 2.5)
    """
    if not math.isfinite(value):
        return value
    whole = len(str(int(abs(value)))) if abs(value) < _EXACT else 0
    return float(f"{value:.{max(_DIGITS, whole + 2)}g}")


def cut(text: str, width: int) -> str:
    """
    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if cell_len(text) <= width else chop_cells(text, width - 1)[0] + "…"


def _show_plain(value: Any) -> str:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, date):
        return value.isoformat()
    text = str(value)
    # A line break or an escape sequence inside a value must not break the table, nor reach the terminal.
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")


def _cells(page: Page) -> tuple[list[str], list[bool], list[list[str | None]]]:
    """Names, whether a column is right-aligned, and the shown values row by row (None for NULL)."""
    table = in_micros(page.table)
    names = list(table.column_names)
    right = [pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_) for type_ in table.schema.types]
    columns: list[list[str | None]] = []
    for field, column in zip(table.schema, table.columns, strict=True):
        show = show_value(field.type)
        columns.append([None if value is None else cut(show(value), page.width) for value in column.to_pylist()])
    # Colour alone would be lost in a file or to some eyes.
    if any(kind in _STYLES for kind in page.kinds) and "_emission" not in names:
        names.append("_emission")
        right.append(False)
        columns.append(list(page.kinds))
    return [cut(name, page.width) for name in names], right, [list(row) for row in zip(*columns, strict=True)]


def _print_lined(page: Page, console: Console, names: list[str], right: list[bool], cells: list[list[str | None]]) -> None:
    cap = _cap([max(map(cell_len, column)) for column in zip(names, *_with_null(cells), strict=True)], console.width)
    console.print(Text(page.title, style="bold"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, is_right in zip(names, right, strict=True):
        table.add_column(Text(cut(name, cap)), justify="right" if is_right else "left", no_wrap=True, overflow="ellipsis")
    for row, kind in zip(cells, page.kinds, strict=True):
        shown = [Text(NULL, style="dim") if cell is None else Text(cut(cell, cap)) for cell in row]
        table.add_row(*shown, style=_STYLES.get(kind or "", ""))
    console.print(table)
    if page.rest:
        console.print(page.rest, style="dim", highlight=False)


def _cap(widths: list[int], available: int) -> int:
    """The greatest width of a cell with which the table fits the terminal: long columns give way, short ones stay whole."""
    gaps = 3 * len(widths) + 1
    return next((cap for cap in range(max(widths), 4, -1) if sum(min(width, cap) for width in widths) + gaps <= available), 4)


def _with_null(cells: list[list[str | None]]) -> list[list[str]]:
    return [[NULL if cell is None else cell for cell in row] for row in cells]


def _plain_lines(page: Page, names: list[str], right: list[bool], cells: list[list[str | None]]) -> list[str]:
    return [page.title, *_aligned(names, right, cells), *([page.rest] if page.rest else []), ""]


def _aligned(names: list[str], right: list[bool], cells: list[list[str | None]]) -> list[str]:
    shown = _with_null(cells)
    widths = [max(cell_len(cell) for cell in column) for column in zip(names, *shown, strict=True)]

    def line(row: list[str]) -> str:
        padded = []
        for cell, width, is_right in zip(row, widths, right, strict=True):
            gap = " " * (width - cell_len(cell))
            padded.append(gap + cell if is_right else cell + gap)
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return [line(names), rule, *(line(row) for row in shown)]
