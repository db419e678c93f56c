"""Rows that are text are asked for in a faster way than by their text, while that holds."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from windrow.spark.internals.expected_failures import ExpectedFailures
from windrow.spark.internals.java_errors import spark_errors
from windrow.spark.query.runner import LazyRelation, SpeculativeRelation
from windrow.spark.row_columns import JUDGED, WATERMARK_NEUTRAL_FATES
from windrow.spark.state.backend import Gathered

# After a batch that had to be read by its text, so many are read that way at once: where one has odd rows, the next may have some too.
_WARY = 15
# Rows that move no clock are those that their source sets aside, with the text that they were.
_BY_TEXT = pa.array([fate.value for fate in WATERMARK_NEUTRAL_FATES], pa.int32())


class SpeculativeScan:
    """What it remembers is only how to ask next time, so it is no part of a job's state."""

    def __init__(self) -> None:
        self._wary: dict[str, int] = {}
        self._failures = ExpectedFailures()

    def ask(self, source: str, rows: LazyRelation, ask: Callable[[LazyRelation], Gathered]) -> tuple[LazyRelation, Gathered]:
        """What is found, and in which rows. Asking must change nothing: it may be done twice."""
        if rows.speculative is None or self._is_wary(source):
            return rows, ask(rows)
        speculative = rows.speculative()
        with self._failures.unlogged(rows.given.sparkSession):
            found = None if speculative is None else _tried(ask, speculative)
        if speculative is not None and found is not None and not _has_odd_rows(found.fates) and speculative.holds():
            return speculative.rows, found
        self._wary[source] = _WARY
        return rows, ask(rows)

    def _is_wary(self, source: str) -> bool:
        left = self._wary.get(source, 0)
        self._wary[source] = max(0, left - 1)
        return left > 0


def _tried(ask: Callable[[LazyRelation], Gathered], speculative: SpeculativeRelation) -> Gathered | None:
    """None where a row cannot be read. Should it be anything else that fails, it fails once more by the text, and says so."""
    try:
        return ask(speculative.rows)
    except spark_errors() as error:
        speculative.failed(error)
        return None


def _has_odd_rows(fates: pa.Table) -> bool:
    return bool(pc.any(pc.is_in(fates[JUDGED].cast(pa.int32()), _BY_TEXT), min_count=0).as_py())
