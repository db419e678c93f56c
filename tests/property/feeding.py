"""What the executors would make of a batch, in plain Python: the columns of ``windrow.spark.operators.partial_aggregation``.

Only the engine's step, clock and merge expressions are used; judging, slicing and partial aggregation are written out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, NamedTuple

import polars as pl

from tests.property.reference import NEVER, Batch, CountWindow, Emission, FixedWindow, Query, Row, SessionWindow
from windrow.aggregates import find_aggregate
from windrow.model.expr import Call, Column
from windrow.model.window_kinds import Cumulate, FixedKind, Sliding
from windrow.windowing.clock import Clock
from windrow.windowing.columns import COUNT, EMISSION, END, FIRST, LAST, REVISION, SEQ, SINCE, SLICE, START, Layout
from windrow.windowing.counted import CountStep
from windrow.windowing.emit_policy import WHEN, EmitPolicy
from windrow.windowing.epochs import EPOCH, ROW_WATERMARK, EpochStep
from windrow.windowing.panes import PaneStep
from windrow.windowing.sessions import LATE_ID, SessionStep
from windrow.windowing.slices import SliceStep
from windrow.windowing.step import BatchTime, Tables, WindowStep

# Key, slice, late id, and the piece of the batch with its watermarks.
Group = tuple[str | None, int, int | None, int, int | None, int | None]
Feed = Literal["slices", "windows", "running", "single"]

KEY = "_k0"
NAMES = ("COUNT", "SUM", "MIN", "MAX", "FIRST", "LAST")
# Where each finished value is found among the parts.
VALUES = ("_a0_n", "_a1_s", "_a2_m", "_a3_m", "_a4_v", "_a5_v")


def speech_of(query: Query) -> EmitPolicy:
    return EmitPolicy(
        every_row=query.mode == "changes",
        per_batch=query.mode == "per_batch",
        on_close=query.speaks_at_close,
        every_records=query.every_records if query.mode == "trigger" else None,
        when=query.when and query.mode == "trigger",
        interval=query.interval if query.mode == "trigger" else None,
    )


def feed_of(query: Query) -> Feed:
    """The planner's choice."""
    emit_policy = speech_of(query)
    by_row = emit_policy.by_row
    match query.window:
        case CountWindow():
            return "single"
        case SessionWindow(most=most):
            return "single" if by_row or most is not None else "slices"
        case _ if by_row:
            return "running"
        case FixedWindow(size=size, advance=advance) if emit_policy == EmitPolicy(on_close=True):
            # A late row that goes to the earliest open window must not turn up in the closed ones that share its first slice.
            # With the exact clock, rows of one slice may be late for different windows.
            is_shared = size != advance and (query.is_exact or (query.late == "include" and query.lateness > 0))
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


def _kind(window: FixedWindow) -> FixedKind:
    if window.is_cumulative:
        return Cumulate(window.advance, window.size, window.offset)
    return Sliding(window.size, window.advance, window.offset)


def step_of(query: Query) -> WindowStep:
    return EpochStep(_step_of(query)) if query.is_exact else _step_of(query)


def _step_of(query: Query) -> WindowStep:
    layout, emit_policy = layout_of(query), speech_of(query)
    match query.window:
        case FixedWindow() as window:
            if feed_of(query) == "slices":
                return SliceStep(layout, _kind(window), query.lateness)
            return PaneStep(layout, emit_policy, _kind(window), query.lateness)
        case SessionWindow(gap=gap, most=most):
            return SessionStep(layout, gap, most, query.lateness, emit_policy, include_late=query.late == "include")
        case CountWindow(count=count):
            return CountStep(layout, count, emit_policy)
        case None:
            return PaneStep(layout, emit_policy)


@dataclass(frozen=True)
class Fed:
    """A batch as the step gets it: None without rows. ``carried`` are the rows behind ``_late_id``."""

    frame: pl.DataFrame | None
    rejected: list[Row]
    carried: list[Row]


class Arrived(NamedTuple):
    """A row with the watermarks when it came, and the piece of its batch that it belongs to."""

    seq: int
    row: Row
    mark: int
    late_id: int | None
    epoch: int = 0
    since: int | None = None
    row_mark: int | None = None


def arrive(query: Query, rows: Sequence[Row], clock: Clock) -> list[Arrived]:
    """Rows in order, each with what it is judged by: the batch's watermark, or that of its partition when it came."""
    start = clock.watermark(query.delay)
    floor = NEVER if start is None else start
    greatest = {p: progress.greatest for p, progress in clock.partitions.items()}
    arrived: list[Arrived] = []
    epoch, since, late = 0, None, 0
    for seq, row in enumerate(rows):
        own, every = greatest[row.partition], list(greatest.values())
        there = [at for at in every if at is not None]
        mark = floor if own is None or not query.is_exact else max(floor, own - query.delay)
        reached = max(floor, min(there) - query.delay) if len(there) == len(every) else floor
        alone = query.is_exact and _may_be_late(query, row, mark, reached)
        if alone:
            # A piece by itself has an odd number, and what follows it an even one.
            epoch, since = epoch + 2 if epoch % 2 else epoch + 1, reached if since is None else max(since, reached)
        elif epoch % 2:
            epoch += 1
        late_id = None
        if isinstance(query.window, SessionWindow) and row.at + _own_length(query.window) <= mark and mark > NEVER:
            late_id, late = late, late + 1
        arrived.append(Arrived(seq, row, mark, late_id, epoch, since, mark if alone else None))
        greatest[row.partition] = row.at if own is None else max(own, row.at)
    return arrived


def _may_be_late(query: Query, row: Row, mark: int, reached: int) -> bool:
    match query.window:
        case SessionWindow() as window:
            return row.at <= reached or row.at + _own_length(window) <= mark
        case FixedWindow() as window:
            kind = _kind(window)
            return query.lateness > 0 and kind.end_of(kind.first_pane(row.at)) <= reached
        case _:
            return False


def feed(query: Query, rows: Sequence[Row], batch_id: int, clock: Clock, shuffle: Random) -> Fed:
    arrived = arrive(query, rows, clock)
    starts = {one.seq: _Judged(query, one.mark).slices(one.row) for one in arrived}
    kept = [one for one in arrived if starts[one.seq]]
    rejected = [one.row for one in arrived if not starts[one.seq]]
    carried = [one.row for one in kept if one.late_id is not None]
    groups: dict[Any, list[tuple[int, Row]]] = {}
    records: list[dict[str, Any]] = []
    shape = feed_of(query)
    # Slices that are only put beside each other may come in shares, one from each task.
    tasks = shuffle.choice((1, 2, 3)) if isinstance(step_of(query), SliceStep) else 1
    for one in kept:
        for start in starts[one.seq]:
            group = (one.row.key if query.is_grouped else None, start, one.late_id, one.epoch, one.since, one.row_mark)
            if shape == "single":
                records.append(_partial(query, group, [(one.seq, one.row)], batch_id))
                continue
            so_far = groups.setdefault((group, one.seq * tasks // len(rows)), [])
            so_far.append((one.seq, one.row))
            if shape == "running":
                records.append(_partial(query, group, so_far, batch_id))
    if shape in ("slices", "windows"):
        records = [_partial(query, group, members, batch_id) for (group, _), members in groups.items()]
    # What comes back from a shuffle has no order.
    shuffle.shuffle(records)
    frame = pl.DataFrame(records, schema=_schema(query, shape, clock.watermark(query.delay))) if records else None
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
        kind = _kind(window)
        is_slices = feed_of(self.query) == "slices"
        if kind.last_end(at) + self.query.lateness <= self.watermark:
            earliest = kind.earliest_open_pane(self.watermark)
            moved = [earliest] if is_slices else list(range(earliest, kind.last_pane(earliest) + 1, kind.pane_step))
            return moved if self.query.late == "include" else []
        if is_slices:
            return [kind.slice_start(at)]
        return [pane for pane in kind.panes(at) if kind.end_of(pane) + self.query.lateness > self.watermark]


def _partial(query: Query, group: Group, members: list[tuple[int, Row]], batch_id: int) -> dict[str, Any]:
    """One record of the feed: every column any feed has, of which the schema picks."""
    key, start, late_id, epoch, since, row_mark = group
    there = [(seq, row.value) for seq, row in members if row.value is not None]
    values = [value for _, value in there]
    batch = batch_id if there else None
    times = [row.at for _, row in members]
    edges = (there[0], there[-1]) if there else ((None, None), (None, None))
    return {
        KEY: key,
        SLICE: start,
        LATE_ID: late_id,
        EPOCH: epoch,
        SINCE: since,
        ROW_WATERMARK: row_mark,
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
    if isinstance(query.window, SessionWindow) and (watermark is not None or query.is_exact):
        names.append(LATE_ID)
    if query.is_exact and (isinstance(query.window, SessionWindow) or (isinstance(query.window, FixedWindow) and query.lateness)):
        names.extend([EPOCH, SINCE, ROW_WATERMARK])
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
    inputs: list[tuple[pl.DataFrame | None, BatchTime]] = field(default_factory=list)
    rejected: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.step = step_of(self.query)

    def take(self, batch: Batch) -> list[Emission]:
        clock = self.clock or Clock.start(range(self.query.partitions), batch.now)
        before = clock.watermark(self.query.delay)
        fed = feed(self.query, batch.rows, len(self.inputs), clock, self.shuffle)
        greatest: dict[int, int] = {}
        for row in batch.rows:
            greatest[row.partition] = max(row.at, greatest.get(row.partition, row.at))
        clock = clock.advance(greatest, batch.now, self.query.idle_timeout)
        clock = clock if batch.forced is None else clock.force(batch.forced)
        clock = clock.end() if batch.is_end else clock
        tick = BatchTime(before, clock.watermark(self.query.delay), batch.now)
        result = self.step.step(self.state, fed.frame, tick)
        self.state, self.clock = result.state, Clock.from_json(clock.to_json())
        self.inputs.append((fed.frame, tick))
        self.rejected.extend([*fed.rejected, *(fed.carried[i] for i in result.rejected)])
        return [] if result.emissions is None else emissions_of(result.emissions)


def emissions_of(frame: pl.DataFrame) -> list[Emission]:
    rows = frame.to_dicts()
    return [Emission(r.get(KEY), r[START], r[END], r[COUNT], tuple(r[name] for name in VALUES), r[EMISSION], r[REVISION]) for r in rows]
