"""Names of the columns that the step reads and writes beside group keys (``k0``, ``k1`` ...) and aggregate parts.

Times are whole microseconds since the epoch (INT64), so that nothing depends on a time zone.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

SLICE = "_slice"  # start of the slice (or of the pane's window) that a partial belongs to
COUNT = "_n"  # rows merged into a partial
FIRST = "_first"  # least event time of a session partial
LAST = "_last"  # greatest event time of a session partial
SEQ = "_seq"  # arrival order of a row within its batch

START = "_window_start"
END = "_window_end"
EMISSION = "_emission"
REVISION = "_revision"

EARLY, FINAL, LATE, CHANGE, RETRACT = "early", "final", "late", "change", "retract"

# Ends of time. Far enough from the 64-bit limits that sizes and delays can be added without overflow.
FOREVER = 1 << 61
NEVER = -(1 << 61)


@dataclass(frozen=True)
class Layout:
    """Which columns of a partial are group keys, and how partials of the same group merge: one expression a part."""

    keys: tuple[str, ...]
    merges: tuple[pl.Expr, ...]
    parts: tuple[str, ...]

    def merge(self, frame: pl.DataFrame, *by: str, extra: tuple[pl.Expr, ...] = ()) -> pl.DataFrame:
        """One row per group and ``by`` columns, with all its partials merged."""
        wanted = [*self.keys, *by]
        merged = [pl.col(COUNT).sum(), *self.merges, *extra]
        if not wanted:
            return frame.select(merged) if frame.height else frame.select(COUNT, *self.parts)
        return frame.group_by(wanted, maintain_order=False).agg(merged)


def join_on(left: pl.DataFrame, right: pl.DataFrame, on: tuple[str, ...], how: str, suffix: str = "_right") -> pl.DataFrame:
    """A join in which NULL is a value like any other, as in GROUP BY."""
    return left.join(right, on=list(on), how=how, nulls_equal=True, suffix=suffix, coalesce=True)  # type: ignore[arg-type]  # 'how' is a Literal
