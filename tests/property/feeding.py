"""What the executors would make of a batch, in plain Python: the same columns as ``windrow.spark.feeds``, for the real steps.

Only the engine's step, clock and merge expressions are used; judging, slicing and partial aggregation are written out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import polars as pl

from tests.property.reference import NEVER, Batch, CountWindow, Emission, FixedWindow, Query, Row, SessionWindow
from windrow.aggregates import find_aggregate
from windrow.model.expr import Call, Column
from windrow.windowing.bounds import Fixed
from windrow.windowing.clock import Clock
from windrow.windowing.columns import COUNT, EMISSION, END, FIRST, LAST, REVISION, SEQ, SLICE, START, Layout
from windrow.windowing.counted import CountStep
from windrow.windowing.panes import PaneStep
from windrow.windowing.sessions import LATE_ID, SessionStep
from windrow.windowing.slices import SliceStep
from windrow.windowing.speech import WHEN, Speech
from windrow.windowing.step import Tables, Tick, WindowStep

Feed = Literal["slices", "windows", "running", "single"]

KEY = "_k0"
NAMES = ("COUNT", "SUM", "MIN", "MAX", "FIRST", "LAST")
# Where each finished value is found among the parts.
VALUES = ("_a0_n", "_a1_s", "_a2_m", "_a3_m", "_a4_v", "_a5_v")


def speech_of(query: Query) -> Speech:
    return Speech(
        every_row=query.mode == "changes",
        per_batch=query.mode == "per_batch",
        on_close=query.speaks_at_close,
        every_records=query.every_records if query.mode == "trigger" else None,
        when=query.when and query.mode == "trigger",
        interval=query.interval if query.mode == "trigger" else None,
    )


def feed_of(query: Query) -> Feed:
    """The planner's choice."""
    speech = speech_of(query)
    by_row = speech.by_row
    match query.window:
        case CountWindow():
            return "single"
        case SessionWindow(most=most):
            return "single" if by_row or most is not None else "slices"
        case _ if by_row:
            return "running"
        case FixedWindow(size=size, advance=advance) if speech == Speech(on_close=True):
            # A late row that goes to the earliest open window must not turn up in the closed ones that share its first slice.
            is_shared = query.late == "include" and query.lateness > 0 and size != advance
            return "windows" if is_shared else "slices"
        case _:
            return "windows"


def layout_of(query: Query) -> Layout:
    merges: list[pl.Expr] = []
    parts: list[str] = []
    for slot, name in enumerate(NAMES):
        form = find_aggregate(Call(name, (Column("v"),)))
        assert form is not None
        columns = {part.name: f"_a{slot}_{part.name}" for part in form.parts}
        merges.extend(part.merge(columns) for part in form.parts)
        parts.extend(columns.values())
    return Layout((KEY,) if query.is_grouped else (), tuple(merges), tuple(parts))


def step_of(query: Query) -> WindowStep:
    layout, speech = layout_of(query), speech_of(query)
    match query.window:
        case FixedWindow(size=size, advance=advance, offset=offset):
            if feed_of(query) == "slices":
                return SliceStep(layout, Fixed(size, advance, offset), query.lateness)
            return PaneStep(layout, speech, size, query.lateness)
        case SessionWindow(gap=gap, most=most):
            return SessionStep(
                layout,
                gap,
                most,
                query.lateness,
                speech,
                include_late=query.late == "include",
            )
        case CountWindow(count=count):
            return CountStep(layout, count, speech)
        case None:
            return PaneStep(layout, speech)


@dataclass(frozen=True)
class Fed:
    """A batch as the step gets it: None without rows. ``carried`` are the rows behind ``_late_id``."""

    frame: pl.DataFrame | None
    rejected: list[Row]
    carried: list[Row]


def feed(query: Query, rows: Sequence[Row], batch_id: int, watermark: int | None, shuffle: Random) -> Fed:
    judged = _Judged(query, NEVER if watermark is None else watermark)
    arrived = list(enumerate(rows))
    kept = [(seq, row) for seq, row in arrived if judged.slices(row)]
    rejected = [row for _, row in arrived if not judged.slices(row)]
    carried: list[Row] = []
    groups: dict[Any, list[tuple[int, Row]]] = {}
    records: list[dict[str, Any]] = []
    shape = feed_of(query)
    for seq, row in kept:
        late_id = None
        if isinstance(query.window, SessionWindow) and watermark is not None and row.at + _own_length(query.window) <= watermark:
            late_id = len(carried)
            carried.append(row)
        for start in judged.slices(row):
            group = (row.key if query.is_grouped else None, start, late_id)
            if shape == "single":
                records.append(_partial(query, group, [(seq, row)], batch_id))
                continue
            so_far = groups.setdefault(group, [])
            so_far.append((seq, row))
            if shape == "running":
                records.append(_partial(query, group, so_far, batch_id))
    if shape in ("slices", "windows"):
        records = [_partial(query, group, members, batch_id) for group, members in groups.items()]
    # What comes back from a shuffle has no order.
    shuffle.shuffle(records)
    frame = pl.DataFrame(records, schema=_schema(query, shape, watermark)) if records else None
    return Fed(frame, rejected, carried)


def _own_length(window: SessionWindow) -> int:
    """How long the session of a single row lasts."""
    return window.gap if window.most is None else min(window.gap, window.most)


@dataclass(frozen=True)
class _Judged:
    query: Query
    watermark: int

    def slices(self, row: Row) -> list[int]:
        """Starts of the slices (or windows) a row goes to; none where it is late for all of them."""
        match self.query.window:
            case SessionWindow(gap=gap):
                return [row.at - row.at % gap]
            case FixedWindow() as window:
                return self._fixed(window, row.at)
            case _:
                return [0]

    def _fixed(self, window: FixedWindow, at: int) -> list[int]:
        fixed = Fixed(window.size, window.advance, window.offset)
        if fixed.last_end(at) + self.query.lateness <= self.watermark:
            return [fixed.earliest_open_start(self.watermark)] if self.query.late == "include" else []
        if feed_of(self.query) == "slices":
            return [fixed.slice_start(at)]
        return [start for start in fixed.window_starts(at) if start + window.size + self.query.lateness > self.watermark]


def _partial(query: Query, group: tuple[str | None, int, int | None], members: list[tuple[int, Row]], batch_id: int) -> dict[str, Any]:
    """One record of the feed: every column any feed has, of which the schema picks."""
    key, start, late_id = group
    there = [(seq, row.value) for seq, row in members if row.value is not None]
    values = [value for _, value in there]
    batch = batch_id if there else None
    times = [row.at for _, row in members]
    edges = (there[0], there[-1]) if there else ((None, None), (None, None))
    return {
        KEY: key,
        SLICE: start,
        LATE_ID: late_id,
        SEQ: members[0][0] if feed_of(query) == "windows" else members[-1][0],
        COUNT: len(members),
        FIRST: min(times),
        LAST: max(times),
        WHEN: members[-1][1].when,
        "_a0_n": len(values),
        "_a1_s": sum(values) if values else None,
        "_a2_m": min(values, default=None),
        "_a3_m": max(values, default=None),
        "_a4_v": edges[0][1],
        "_a4_batch": batch,
        "_a4_seq": edges[0][0],
        "_a5_v": edges[1][1],
        "_a5_batch": batch,
        "_a5_seq": edges[1][0],
    }


def _schema(query: Query, shape: Feed, watermark: int | None) -> dict[str, Any]:
    names = [KEY] if query.is_grouped else []
    names.append(SLICE)
    if isinstance(query.window, SessionWindow) and watermark is not None:
        names.append(LATE_ID)
    names.extend([COUNT, *layout_of(query).parts])
    if shape != "slices":
        names.append(SEQ)
    if isinstance(query.window, SessionWindow | CountWindow):
        names.extend([FIRST, LAST])
    if shape in ("running", "single") and query.when:
        names.append(WHEN)
    types: dict[str, Any] = {KEY: pl.String, WHEN: pl.Boolean}
    return {name: types.get(name, pl.Int64) for name in names}


@dataclass
class Engine:
    """The program around a step: clock, feed, step; with the inputs it gave, for a replay."""

    query: Query
    shuffle: Random
    step: WindowStep = field(init=False)
    clock: Clock | None = None
    state: Tables = field(default_factory=dict)
    inputs: list[tuple[pl.DataFrame | None, Tick]] = field(default_factory=list)
    rejected: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.step = step_of(self.query)

    def take(self, batch: Batch) -> list[Emission]:
        clock = self.clock or Clock.start(range(self.query.partitions), batch.now)
        before = clock.watermark(self.query.delay)
        fed = feed(self.query, batch.rows, len(self.inputs), before, self.shuffle)
        greatest: dict[int, int] = {}
        for row in batch.rows:
            greatest[row.partition] = max(row.at, greatest.get(row.partition, row.at))
        clock = clock.advance(greatest, batch.now, self.query.idle_timeout)
        clock = clock if batch.forced is None else clock.force(batch.forced)
        clock = clock.end() if batch.is_end else clock
        tick = Tick(before, clock.watermark(self.query.delay), batch.now)
        result = self.step.step(self.state, fed.frame, tick)
        self.state, self.clock = result.state, Clock.from_json(clock.to_json())
        self.inputs.append((fed.frame, tick))
        self.rejected.extend([*fed.rejected, *(fed.carried[i] for i in result.rejected)])
        return [] if result.emissions is None else emissions_of(result.emissions)


def emissions_of(frame: pl.DataFrame) -> list[Emission]:
    rows = frame.to_dicts()
    return [Emission(r.get(KEY), r[START], r[END], r[COUNT], tuple(r[name] for name in VALUES), r[EMISSION], r[REVISION]) for r in rows]
