"""How things look: tables, numbers, times. One place, so that all commands look the same."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

from rich import box
from rich.console import Console
from rich.table import Table

from windrow.model.fate import FATE_CODES

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Where nobody's window sets a width, lines may be as long as what they say.
_PLAIN_WIDTH = 160
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


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


def show_time(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(" ", timespec="milliseconds").removesuffix("+00:00").removesuffix(".000")


def show_micros(micros: int) -> str:
    """
    >>> show_micros(1_500_000), show_micros(2**62)
    ('1970-01-01 00:00:01.500', 'the end of time')
    """
    try:
        return show_time(_EPOCH + timedelta(microseconds=micros))
    except OverflowError:
        return "the end of time" if micros > 0 else "the beginning of time"


def show_seconds(seconds: float) -> str:
    """A length of time in its two greatest units.

    >>> show_seconds(3.25), show_seconds(93_784)
    ('3.2 s', '1d 2h')
    """
    left = int(seconds)
    parts: list[str] = []
    for length, unit in _UNITS:
        number, left = divmod(left, length)
        if number or parts:
            parts.append(f"{number}{unit}")
    return " ".join([*parts, f"{left}s"][:2]) if parts else f"{seconds:.1f} s"
