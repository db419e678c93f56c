"""What a statement holds, for programs: its windows by their bounds, and the first of them one by one. Starts no Spark."""

from __future__ import annotations

from typing import Any

import polars as pl

from windrow.jobs.history import OpenState
from windrow.windowing.columns import COUNT, END, FOREVER, NEVER, START

_MOST_SPANS = 500


def held_windows(state: OpenState | None, most: int) -> dict[str, Any]:
    """``spans`` are the windows of all groups by their bounds; ``held`` has each for itself, those that end first before others."""
    if state is None or state.windows is None:
        return {"total": 0, "rows": 0, "spans": [], "held": []}
    frame = state.windows
    keys = [name for name in frame.columns if name not in (START, END, COUNT)]
    sums = frame.group_by(START, END).agg(pl.len().alias("groups"), pl.col(COUNT).sum().alias("rows")).sort(END, START, nulls_last=True)
    spans = [
        {"start": _bound(start), "end": _bound(end), "groups": groups, "rows": int(rows or 0)}
        for start, end, groups, rows in sums.head(_MOST_SPANS).select(START, END, "groups", "rows").iter_rows()
    ]
    first = frame.sort(END, START, nulls_last=True).head(most)
    held = [
        {
            "key": {key: None if row[key] is None else str(row[key]) for key in keys},
            "start": _bound(row[START]),
            "end": _bound(row[END]),
            "rows": int(row[COUNT] or 0),
        }
        for row in first.iter_rows(named=True)
    ]
    return {"total": frame.height, "rows": int(frame[COUNT].sum() or 0), "spans": spans, "held": held}


def _bound(micros: int | None) -> int | None:
    return None if micros is None or micros >= FOREVER or micros <= NEVER else micros
