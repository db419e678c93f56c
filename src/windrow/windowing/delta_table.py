"""A table of which every batch changes a little, and that is not rewritten for it.

Rows belong to units (a pane, a group). What a batch touches is taken out as whole units and put back changed: the changed rows
stand in a small table of their own, and the large one keeps its old rows, marked as moved. The two become one again when the
small one has grown as large as the other, so a batch costs a look at the large table, not a copy of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from windrow.windowing.columns import join_on
from windrow.windowing.step import Tables, stack

BASE, RECENT, MOVED = "base", "recent", "moved"


@dataclass(frozen=True)
class DeltaTable:
    """``moved`` holds the units whose rows in ``base`` no longer count. Without unit columns everything is one unit."""

    unit: tuple[str, ...]
    base: pl.DataFrame | None = None
    recent: pl.DataFrame | None = None
    moved: pl.DataFrame | None = None

    @staticmethod
    def of(state: Tables, unit: tuple[str, ...]) -> DeltaTable:
        return DeltaTable(unit, state.get(BASE), state.get(RECENT), state.get(MOVED))

    def tables(self) -> dict[str, pl.DataFrame]:
        """The state to hand on, with the two tables made one where it is time."""
        delta = self
        small = _height(self.recent) + _height(self.moved)
        if small and small >= _height(self.base):
            whole = self.everything()
            delta = DeltaTable(self.unit, None if whole is None else whole.rechunk())
        named = {BASE: delta.base, RECENT: delta.recent, MOVED: delta.moved}
        return {name: table for name, table in named.items() if table is not None and table.height}

    def everything(self) -> pl.DataFrame | None:
        return stack([self._still(self.base), self.recent])

    def where(self, claim: pl.Expr) -> pl.DataFrame | None:
        """The rows for which a claim holds."""
        base = None if self.base is None else self._still(self.base.filter(claim))
        return stack([base, None if self.recent is None else self.recent.filter(claim)])

    def take(self, units: pl.DataFrame) -> tuple[pl.DataFrame | None, DeltaTable]:
        """All rows of some units, and the table without them."""
        if not self.unit:
            return self.everything(), DeltaTable(self.unit)
        base = None if self.base is None else self._still(join_on(self.base, units, self.unit, "semi"))
        recent = None if self.recent is None else join_on(self.recent, units, self.unit, "semi")
        left = self.recent
        if left is not None and recent is not None and recent.height:
            left = join_on(left, units, self.unit, "anti")
        moved = self.moved
        if base is not None and base.height:
            moved = stack([moved, base.select(self.unit).unique()])
        return stack([base, recent]), replace(self, recent=left, moved=moved)

    def put(self, rows: pl.DataFrame | None) -> DeltaTable:
        """Add rows of units that are not here, or were taken."""
        return replace(self, recent=stack([self.recent, rows]))

    def keep(self, claim: pl.Expr) -> DeltaTable:
        """Let go of the rows for which a claim does not hold."""
        base = None if self.base is None else self.base.filter(claim)
        recent = None if self.recent is None else self.recent.filter(claim)
        return replace(self, base=base, recent=recent, moved=self.moved if base is not None and base.height else None)

    def _still(self, base: pl.DataFrame | None) -> pl.DataFrame | None:
        if base is None or self.moved is None or not base.height:
            return base
        return join_on(base, self.moved, self.unit, "anti")


def _height(table: pl.DataFrame | None) -> int:
    return 0 if table is None else table.height
