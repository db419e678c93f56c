"""Rows that are text are asked for in a faster way than by their text, while that holds."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from windrow.spark.feeds import JUDGED, STILL
from windrow.spark.home import Gathered
from windrow.spark.querying import Select

# After a batch that had to be read by its text, so many are read that way at once: where one has odd rows, the next may have some too.
_WARY = 15
# Rows that move no clock are those that their source sets aside, with the text that they were.
_BY_TEXT = pa.array([fate.value for fate in STILL], pa.int32())


class QuickLooks:
    """What it remembers is only how to ask next time, so it is no part of a job's state."""

    def __init__(self) -> None:
        self._wary: dict[str, int] = {}

    def ask(self, source: str, rows: Select, ask: Callable[[Select], Gathered]) -> tuple[Select, Gathered]:
        """What is found, and in which rows. Asking must change nothing: it may be done twice."""
        if rows.quick is None or self._is_wary(source):
            return rows, ask(rows)
        quick = rows.quick()
        found = None if quick is None else _tried(ask, quick.rows)
        if quick is not None and found is not None and not _has_odd_rows(found.books) and quick.holds():
            return quick.rows, found
        self._wary[source] = _WARY
        return rows, ask(rows)

    def _is_wary(self, source: str) -> bool:
        left = self._wary.get(source, 0)
        self._wary[source] = max(0, left - 1)
        return left > 0


def _tried(ask: Callable[[Select], Gathered], rows: Select) -> Gathered | None:
    """None where a row cannot be read. Should it be anything else that fails, it fails once more by the text, and says so."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
    from pyspark.errors import PySparkException

    try:
        return ask(rows)
    except (Py4JError, PySparkException):
        return None


def _has_odd_rows(books: pa.Table) -> bool:
    return bool(pc.any(pc.is_in(books[JUDGED].cast(pa.int32()), _BY_TEXT), min_count=0).as_py())
