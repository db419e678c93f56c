"""Times in SQL text, computed with as numbers are: what a kind of window says of times, it says of these, too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SqlTime:
    """Whole microseconds. What is divided by ``//`` must not be below zero.

    >>> at = SqlTime("t")
    >>> str(at - (at - 5) % 60)
    '(t - pmod((t - 5L), 60L))'
    """

    text: str

    def __str__(self) -> str:
        return self.text

    def __add__(self, other: int) -> SqlTime:
        return SqlTime(f"({self.text} + {other}L)") if other else self

    def __sub__(self, other: SqlTime | int) -> SqlTime:
        if isinstance(other, SqlTime):
            return SqlTime(f"({self.text} - {other.text})")
        return SqlTime(f"({self.text} - {other}L)") if other else self

    def __mul__(self, other: int) -> SqlTime:
        return SqlTime(f"({self.text} * {other}L)")

    def __mod__(self, other: int) -> SqlTime:
        return SqlTime(f"pmod({self.text}, {other}L)")

    def __floordiv__(self, other: int) -> SqlTime:
        return SqlTime(f"div({self.text}, {other}L)")
