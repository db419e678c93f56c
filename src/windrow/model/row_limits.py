"""Limits of bad, late and violating rows: beyond them a job stops before it writes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from windrow.model.fate import Fate

DEFAULT_LEAST = 100
"""A share means nothing among a few rows."""


class LimitedRows(Enum):
    """Which rows are counted. The value is the option."""

    BAD = "bad.rows.max"
    LATE = "late.rows.max"
    VIOLATING = "violations.max"

    @property
    def fates(self) -> tuple[Fate, ...]:
        return _FATES[self]

    @property
    def words(self) -> str:
        return _WORDS[self]


_FATES = {
    LimitedRows.BAD: (Fate.UNDECODABLE, Fate.BAD_FIELD, Fate.NO_EVENT_TIME, Fate.FUTURE),
    LimitedRows.LATE: (Fate.LATE, Fate.LATE_AT_SOURCE),
    LimitedRows.VIOLATING: (Fate.VIOLATION,),
}
_WORDS = {LimitedRows.BAD: "bad rows", LimitedRows.LATE: "late rows", LimitedRows.VIOLATING: "rows that violate a constraint"}


@dataclass(frozen=True)
class RowLimit:
    """So many rows, or such a share of them (``is_share``: of a hundred), in a batch or a span of the arrival clock (microseconds)."""

    most: Decimal
    is_share: bool = False
    span: int | None = None

    def is_passed(self, rows: int, of: int, least: int) -> bool:
        """Whether ``rows`` among ``of`` are too many; a share is judged among at least so many rows.

        >>> RowLimit(Decimal(5), is_share=True).is_passed(6, 100, 100), RowLimit(Decimal(5), is_share=True).is_passed(6, 99, 100)
        (True, False)
        """
        if self.is_share:
            return of >= least and rows * 100 > self.most * of
        return rows > self.most


@dataclass(frozen=True)
class StreamLimits:
    """Those of one source or statement, with the options as they were written."""

    name: str
    is_source: bool
    limits: tuple[tuple[LimitedRows, RowLimit, str], ...]
    least: int = DEFAULT_LEAST

    @property
    def longest(self) -> int:
        """How long rows must be remembered."""
        return max((limit.span or 0 for _, limit, _ in self.limits), default=0)
