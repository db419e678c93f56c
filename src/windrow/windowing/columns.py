"""Names of the columns that the step reads and writes beside group keys (``k0``, ``k1`` ...) and aggregate parts.

Times are whole microseconds since the epoch (INT64), so that nothing depends on a time zone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from windrow.lazy import LazyModule
from windrow.model import row_protocol
from windrow.model.accumulation import Accumulation

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")

SLICE = "_slice"  # start of the slice (or of the pane's window) that a partial belongs to
COUNT = "_n"  # rows merged into a partial
FIRST = "_first"  # least event time of a session partial
LAST = "_last"  # greatest event time of a session partial
SINCE = "_since"  # when it began: the watermark at the begin of a piece of a batch, the arrival of the batch of a row that waits
SEQ = row_protocol.SEQ
TIME = row_protocol.TIME
START, END = row_protocol.START, row_protocol.END
EMISSION, REVISION = row_protocol.EMISSION, row_protocol.REVISION

EARLY, FINAL, LATE, CHANGE, RETRACT = "early", "final", "late", "change", "retract"

# Ends of time. Far enough from the 64-bit limits that sizes and delays can be added without overflow.
FOREVER = 1 << 61
NEVER = -(1 << 61)

_LIST, _MEMBER = "_list", "_member"


@dataclass(frozen=True)
class Layout:
    """Which columns of a partial are group keys, and how partials of the same group merge: one expression a part."""

    keys: tuple[str, ...]
    merges: tuple[pl.Expr, ...]
    parts: tuple[str, ...]
    # How each part runs up, where all of them do: two totals of numbers are then put together row by row, without grouping.
    runs: tuple[Accumulation, ...] = ()

    def merge(self, frame: pl.DataFrame, *by: str) -> pl.DataFrame:
        """One row per group and ``by`` columns, with all its partials merged."""
        wanted = [*self.keys, *by]
        columns = [*wanted, COUNT, *self.parts]
        if not wanted:
            return frame.select(self._merged()) if frame.height else frame.select(columns)
        # A partial that is alone is merged already. Among many groups most are, and looking costs far less than merging.
        is_alone = frame.select(wanted).is_unique()
        if is_alone.all():
            return frame.select(columns)
        merged = frame.filter(~is_alone).group_by(wanted, maintain_order=False).agg(self._merged())
        alone = frame.filter(is_alone).select(columns)
        return pl.concat([alone, merged], how="vertical_relaxed") if alone.height else merged

    def merge_members(self, partials: pl.DataFrame, members: list[list[int]]) -> pl.DataFrame:
        """One merged row for each list of row numbers, in the order of the lists. No list may be empty."""
        lists = pl.DataFrame({_LIST: range(len(members)), _MEMBER: members}, schema={_LIST: pl.Int64, _MEMBER: pl.List(pl.Int64)})
        each = lists.explode(_MEMBER)
        parts = partials.select(COUNT, *self.parts)[each[_MEMBER]].with_columns(each[_LIST])
        return parts.group_by(_LIST).agg(self._merged()).sort(_LIST).drop(_LIST)

    def _merged(self) -> list[pl.Expr]:
        return [pl.col(COUNT).sum(), *self.merges]


def join_on(
    left: pl.DataFrame,
    right: pl.DataFrame,
    on: tuple[str, ...],
    how: Literal["left", "inner", "semi", "anti"],
    maintain_order: Literal["none", "left"] = "none",
) -> pl.DataFrame:
    """A join in which NULL is a value like any other, as in GROUP BY."""
    return left.join(right, on=list(on), how=how, nulls_equal=True, coalesce=True, maintain_order=maintain_order)
