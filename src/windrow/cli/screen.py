"""How things look: tables, numbers, times. One place, so that all commands look the same."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table

from windrow.model.fate import FATE_CODES
from windrow.observe.spelling import show_micros, show_seconds, show_time

__all__ = ["meaning_of", "say", "screen", "show_micros", "show_seconds", "show_time", "table"]

# Where nobody's window sets a width, lines may be as long as what they say.
_PLAIN_WIDTH = 160


def screen(*, is_error: bool = False) -> Console:
    stream = sys.stderr if is_error else sys.stdout
    return Console(stderr=is_error, width=None if stream.isatty() else _PLAIN_WIDTH, highlight=False, emoji=False)


def say(console: Console, line: str, style: str = "") -> None:
    """One line of plain text, whatever brackets it holds, never folded."""
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True, emoji=False)


def table(*columns: str) -> Table:
    """An empty table. A name that ends in ``>`` is a column of numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        is_number = name.endswith(">")
        made.add_column(name.removesuffix(">"), justify="right" if is_number else "left", overflow="ellipsis", no_wrap=is_number)
    return made


def meaning_of(code: str) -> str:
    """
    >>> meaning_of("WR701")
    'the row could not be decoded'
    """
    return next((meaning for known, meaning in FATE_CODES.values() if known == code), "")
