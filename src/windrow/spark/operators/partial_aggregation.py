"""What the executors make of a micro-batch for one aggregating stage: one SELECT, one job.

Every row is judged here (filtered, late, bad) by the watermark the batch started with. Rows that are set aside leave in the
same job, as groups of their own that carry the whole row; so do the counts of the ledger and the clock's maxima.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates import find_aggregate, orders_its_value, takes_whole_rows
from windrow.model.expr import Call, Star
from windrow.model.fate import Fate
from windrow.model.lateness import first_closed_at, late_by, over_at
from windrow.model.system import ROW_COLUMNS
from windrow.model.window import DeadLetterLate, DropLate, IncludeInNext, UpdatePrevious
from windrow.model.window_kinds import CountedKind, MovingKind
from windrow.observe.traces import TRACEPARENT
from windrow.plan.headers import LAST_HEADERS_CALL
from windrow.plan.physical.aggregations import has_pieces
from windrow.plan.physical.renames import form_of, part_names
from windrow.plan.sharing import fixed_of
from windrow.plan.stages import Aggregate, AggregateItem, PartialShape
from windrow.plan.window_cut import overlap
from windrow.spark.compile.expressions import of_batch, quote, to_sql
from windrow.spark.compile.sql_time import SqlTime
from windrow.spark.row_columns import (
    CLOCK,
    FATE,
    INCLUDED,
    JUDGED,
    PARTITION_WATERMARK,
    ROW,
    ROWS_COUNT,
    TIME,
    WATERMARK_NEUTRAL_FATES,
    WATERMARK_THEN,
)
from windrow.spark.scan.diverted_rows import JUDGED_TIME, JUDGED_WATERMARK, diverted_row
from windrow.windowing.columns import COUNT, EMISSION, FIRST, LAST, NEVER, RETRACT, SEQ, SINCE, SLICE
from windrow.windowing.emit_policy import WHEN
from windrow.windowing.epochs import EPOCH, ROW_WATERMARK
from windrow.windowing.lateness import is_open_sql, is_over_sql
from windrow.windowing.sessions import LATE_ID

_SINCE_TIME = "_t0"  # the least time of a joined row's parts
_ALONE = "_alone"  # whether a row is a piece of its batch by itself
ONE = "1L"
_MOST_DIGITS = 38
_PLACE, _VALUE = "seq", "v"  # the parts of LAST that say where in the input its row stands, and what it holds
_GROUPS_SAMPLED = 200


@dataclass(frozen=True)
class PartialAggregation:
    """One batch of one stage. ``view`` is the temporary view that holds its rows and ``columns`` their names."""

    view: str
    columns: tuple[str, ...]
    batch_id: int
    watermark: int | None
    # Partitions whose maxima ride along; empty where the clock is read elsewhere.
    partitions: tuple[int, ...] = ()
    # SQL of the number of a row's partition. None of emissions, which come from none: then the clock of each goes by all of them.
    partition_sql: str | None = "_partition"
    # Whether this job keeps the source's accounts too; else rows that the source set aside are not looked at again.
    is_direct: bool = False
    # SQL of the stage's own event time, where it has one.
    own_time: str | None = None
    max_future: int = 0
    # SQL of the watermarks that each row is judged by, and the delay of the watermark; None where the batch's watermark judges them all.
    row_watermarks: tuple[str, str] | None = None
    delay: int = 0
    # Where closed windows may be let go early: those that end at or before this take no rows any more.
    evicted: int | None = None
    # Whether late rows keep their group and slice: what is late for one statement may be in time for another.
    keeps_late: bool = False
    # Whether the headers of rows are gathered; else only whether there are any. To gather them costs as much as all the rest together.
    takes_headers: bool = True
    # Types of the parts by column, where rows are to come one by one and are run up afterwards; None where running totals are to come.
    row_types: Mapping[str, str] | None = None
    # The columns that a query sees, where windows hold whole rows.
    visible: tuple[str, ...] = ()

    @property
    def row(self) -> str:
        """SQL of the whole row: what a query can ask of it."""
        there = set(self.columns)
        kept = dict.fromkeys((*(name for name in self.visible if name in there), *(c.name for c in ROW_COLUMNS if c.name in there)))
        return f"struct({', '.join(quote(name) for name in kept)})"

    @property
    def watermark_sql(self) -> str:
        """SQL of the watermark that a row is judged by."""
        return PARTITION_WATERMARK if self.row_watermarks is not None else self.floor

    @property
    def gone(self) -> str | None:
        """SQL of the time up to which closed windows were let go early."""
        return None if self.evicted is None else of_batch(self.evicted, TIME)

    @property
    def floor(self) -> str:
        """SQL of the watermark that the batch started with. The text is the same while there is none, so that it is planned once."""
        return of_batch(NEVER if self.watermark is None else self.watermark, TIME)


def arguments_of(call: Call) -> list[str]:
    """Arguments as SQL, FILTER folded in: where it fails they are NULL, and NULLs are skipped.

    An ordered-set aggregate gets its ordered value first, then its own arguments; others get what they are ordered by last.
    """
    keys = [to_sql(key.expr) for key in call.within_group]
    own = ["1" if isinstance(arg, Star) else to_sql(arg) for arg in call.args]
    args = [*keys, *own] if orders_its_value(call) else [*own, *keys] or ["1"]
    if call.where is not None:
        form = find_aggregate(call)
        constants = form.constant_args if form is not None else ()
        args = [arg if i in constants else f"CASE WHEN {to_sql(call.where)} THEN {arg} END" for i, arg in enumerate(args)]
    return args


def partial_aggregation_sql(stage: Aggregate, request: PartialAggregation) -> str:
    """The whole SELECT."""
    judged = judged_sql(stage, request)
    match stage.partial_shape:
        case PartialShape.SLICES | PartialShape.WINDOWS:
            return _grouped(stage, request, judged)
        case PartialShape.RUNNING:
            return _row_by_row(stage, request, judged, "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
        case PartialShape.SINGLE:
            return _row_by_row(stage, request, judged, "ROWS BETWEEN CURRENT ROW AND CURRENT ROW")


def judged_sql(stage: Aggregate, request: PartialAggregation) -> str:
    """Rows with their keys, time, slice and fate."""
    time = "`_timestamp`" if stage.time.on_arrival else request.own_time or "`_event_time`"
    keys = "".join(f", {to_sql(key)} AS {name}" for name, key in stage.keys)
    passes = "true" if stage.where is None else f"coalesce({to_sql(stage.where)}, false)"
    if EMISSION in request.columns:
        # What takes an earlier row back is no row to be counted.
        passes = f"({passes} AND coalesce(`{EMISSION}` <> '{RETRACT}', true))"
    when = f", coalesce({' OR '.join(map(to_sql, stage.when))}, false) AS {WHEN}" if stage.when else ""
    has_fate = FATE in request.columns
    fate = FATE if has_fate and request.is_direct else "0"
    sound = f" WHERE {FATE} = 0" if has_fate and not request.is_direct else ""
    since = "" if stage.since is None else f", unix_micros({to_sql(stage.since)}) AS {_SINCE_TIME}"
    rows = f"SELECT *, unix_micros({time}) AS {TIME}{since}, {fate} AS _fate_in, {passes} AS _pass{keys}{when} FROM {request.view}{sound}"
    ahead = f"{TIME} > unix_micros(`_timestamp`) + {request.max_future}"
    future = f"WHEN {ahead} THEN {Fate.FUTURE.value} " if request.own_time is not None else ""
    if request.row_watermarks is not None:
        own, source = (f"greatest({watermark} - {request.delay}, {request.floor})" for watermark in request.row_watermarks)
        rows = f"SELECT *, {own} AS {PARTITION_WATERMARK}, {source} AS {WATERMARK_THEN} FROM ({rows})"
    late, slices = _lateness(stage, request), _slice_sql(stage, request)
    judged = (
        f"CASE WHEN _fate_in <> 0 THEN _fate_in WHEN NOT _pass THEN {Fate.FILTERED.value} "
        f"WHEN {TIME} IS NULL THEN {Fate.NO_EVENT_TIME.value} {future}WHEN {late} THEN {Fate.LATE.value} ELSE 0 END"
    )
    every = f"SELECT *, {judged} AS _judged FROM ({rows})"
    every = _of_cut(stage, every)
    return f"SELECT *, {slices} AS {SLICE} FROM ({_in_pieces(stage, every) if has_pieces(stage) else every})"


def _of_cut(stage: Aggregate, judged: str) -> str:
    """Rows that belong to a stage which keeps only some of the windows. A row that no time places is of the newer text.

    Windows that start before a cut may reach beyond it: they take rows from there on, too, which the newer text accounts for.
    """
    if stage.cut is None:
        return judged
    if not stage.cut.is_before:
        return f"SELECT * FROM ({judged}) WHERE coalesce({TIME} >= {stage.cut.at}, true)"
    fixed = fixed_of(stage)
    assert fixed is not None
    reached = f" OR (_judged = 0 AND {TIME} < {stage.cut.at + overlap(fixed)})" if overlap(fixed) else ""
    return f"SELECT * FROM ({judged}) WHERE {TIME} < {stage.cut.at}{reached}"


def _is_accounted(stage: Aggregate) -> str | None:
    """SQL that is true for a row that the stage accounts for, where it takes others, too."""
    fixed = fixed_of(stage)
    if stage.cut is None or not stage.cut.is_before or fixed is None or not overlap(fixed):
        return None
    return f"{TIME} < {stage.cut.at}"


def _in_pieces(stage: Aggregate, judged: str) -> str:
    """Rows with the number of their piece: one that may be late is a piece by itself, and the next begins after it."""
    if isinstance(stage.window, MovingKind):
        late = f"{TIME} <= {WATERMARK_THEN} OR {TIME} + {stage.window.own_length} <= {PARTITION_WATERMARK}"
    else:
        fixed = fixed_of(stage)
        assert fixed is not None
        late = f"{first_closed_at(fixed, SqlTime(TIME))} <= {WATERMARK_THEN}"
    alone = f"SELECT *, CASE WHEN _judged = 0 AND ({late}) THEN 1L ELSE 0L END AS {_ALONE} FROM ({judged})"
    so_far = f"OVER (ORDER BY `{SEQ}` ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    columns = (
        f"2 * sum({_ALONE}) {so_far} - {_ALONE} AS {EPOCH}",
        f"max(CASE WHEN {_ALONE} = 1 THEN {WATERMARK_THEN} END) {so_far} AS {SINCE}",
        f"CASE WHEN {_ALONE} = 1 THEN {PARTITION_WATERMARK} END AS {ROW_WATERMARK}",
    )
    return f"SELECT *, {', '.join(columns)} FROM ({alone})"


def _piece_columns(stage: Aggregate) -> list[str]:
    return [EPOCH, SINCE, ROW_WATERMARK] if has_pieces(stage) else []


def _lateness(stage: Aggregate, request: PartialAggregation) -> str:
    """SQL that is true for a row that no window takes any more."""
    fixed = fixed_of(stage)
    if fixed is None or isinstance(stage.late, IncludeInNext):
        return "false"
    at = _placed_at(stage)
    gone = "" if request.gone is None else f" OR {fixed.last_end(at)} <= {request.gone}"
    return is_over_sql(fixed.last_end(at), stage.lateness, request.watermark_sql) + gone


def _is_included(stage: Aggregate, request: PartialAggregation) -> str | None:
    """SQL that is true for a row that INCLUDE_IN_NEXT moves to a later window."""
    fixed = fixed_of(stage)
    if fixed is None or not isinstance(stage.late, IncludeInNext):
        return None
    return is_over_sql(fixed.last_end(_placed_at(stage)), stage.lateness, request.watermark_sql)


def late_corrections(stage: Aggregate, partials: pa.Table, watermark: int | None) -> list[tuple[int, int]]:
    """Rows that came for a window that had closed and is still kept, each of which corrects what it emitted.

    For how long, in event time, the window had been closed, and how many there are.
    """
    fixed = fixed_of(stage)
    if fixed is None or not stage.lateness:
        return []
    kept = partials.filter(pc.equal(partials[JUDGED], Fate.OK.value))
    if EPOCH in partials.column_names:
        over_for = pc.subtract(kept[SINCE], pc.add(kept[SLICE], fixed.pane_length))
    elif watermark is None:
        return []
    elif stage.partial_shape is PartialShape.SLICES:
        starts = zip(kept[SLICE].to_pylist(), kept[ROWS_COUNT].to_pylist(), strict=True)
        least = NEVER if stage.cut is None or stage.cut.is_before else stage.cut.at
        closed = ((watermark - max(first_closed_at(fixed, at), fixed.end_of(least)), rows) for at, rows in starts)
        return [(by, rows) for by, rows in closed if by >= 0]
    else:
        over_for = pc.subtract(watermark - fixed.pane_length, kept[SLICE])
    is_late = pc.fill_null(pc.greater_equal(over_for, 0), False)
    late = pa.table({"by": over_for.filter(is_late), "rows": kept[ROWS_COUNT].filter(is_late)}).group_by("by").aggregate([("rows", "sum")])
    return list(zip(late["by"].to_pylist(), late["rows_sum"].to_pylist(), strict=True))


def late_drops(stage: Aggregate, partials: pa.Table, watermark: int | None, *, keeps_slices: bool) -> list[tuple[int | None, int]]:
    """Rows of fixed windows that are dropped, by how much they came too late, and how many there are. ``keeps_slices``: see the request.

    Of rows that come one by one it is not known.
    """
    fixed = fixed_of(stage)
    if fixed is None or stage.partial_shape not in (PartialShape.SLICES, PartialShape.WINDOWS):
        return []
    late = partials.filter(pc.equal(partials[JUDGED], Fate.LATE.value))
    places = zip(late[SLICE].to_pylist(), late[ROWS_COUNT].to_pylist(), strict=True)
    if not keeps_slices or watermark is None:
        return list(places)
    return [(None if at is None else late_by(fixed.last_end(at), stage.lateness, watermark), rows) for at, rows in places]


def _placed_at(stage: Aggregate) -> SqlTime:
    """The time by which the latest window that takes a row is found."""
    if stage.cut is not None and stage.cut.is_before:
        return SqlTime(f"least({TIME}, {stage.cut.at - 1}L)")
    return SqlTime(TIME if stage.since is None else _SINCE_TIME)


def _slice_sql(stage: Aggregate, request: PartialAggregation) -> str:
    match stage.window:
        case MovingKind() as moving:
            return str(moving.slice_start(SqlTime(TIME)))
        case CountedKind() | None:
            return "0L"
    fixed = fixed_of(stage)
    assert fixed is not None
    last = fixed.last_pane(_placed_at(stage))
    if stage.partial_shape is PartialShape.SLICES:
        return _moved(stage, request, str(fixed.slice_start(SqlTime(TIME))), "{0}")
    if not fixed.overlaps:
        return _moved(stage, request, str(last), "{0}")
    first = str(fixed.first_pane(SqlTime(TIME)))
    if stage.cut is not None and not stage.cut.is_before:
        first = f"greatest({first}, {stage.cut.at}L)"
    panes = f"sequence({first}, {last}, {fixed.pane_step}L)"
    pane = SqlTime("s")
    gone = "" if request.gone is None else f" AND {fixed.end_of(pane)} > {request.gone}"
    open_ones = f"filter({panes}, s -> {is_open_sql(fixed.end_of(pane), stage.lateness, request.watermark_sql)}{gone})"
    return f"explode_outer(CASE WHEN _judged = 0 THEN {_moved(stage, request, open_ones, 'sequence({0}, {1}, {2}L)')} END)"


def _moved(stage: Aggregate, request: PartialAggregation, own: str, elsewhere: str) -> str:
    """INCLUDE_IN_NEXT: a row that nothing takes goes to the earliest open window instead, ``{0}`` in ``elsewhere``.

    Windows that start with that one hold what it holds, up to ``{1}``, ``{2}`` apart.
    """
    fixed, included = fixed_of(stage), _is_included(stage, request)
    if fixed is None or included is None:
        return own
    earliest = fixed.earliest_open_pane(SqlTime(request.watermark_sql))
    moved = elsewhere.format(f"CAST({earliest} AS BIGINT)", f"CAST({fixed.last_pane(earliest)} AS BIGINT)", fixed.pane_step)
    return f"CASE WHEN {included} THEN {moved} ELSE {own} END"


def _counted_at(stage: Aggregate, request: PartialAggregation) -> str:
    """SQL of the pane in which a row of several windows is counted for the ledger: the last that takes it."""
    fixed = fixed_of(stage)
    assert fixed is not None
    return _moved(stage, request, str(fixed.last_pane(_placed_at(stage))), "{1}")


def _is_carried(stage: Aggregate) -> str:
    """Which rows leave whole: those a dead letter is made of."""
    kept = [fate.value for fate in Fate if fate not in (Fate.OK, Fate.FILTERED, Fate.LATE)]
    if isinstance(stage.late, DeadLetterLate | UpdatePrevious):
        kept.append(Fate.LATE.value)
    return f"_judged IN ({', '.join(map(str, kept))})"


def _dropped_by(stage: Aggregate, request: PartialAggregation) -> str:
    """A branch for late rows that are only counted: in place of a slice they have by how much they are late, to two digits."""
    fixed = fixed_of(stage)
    if request.keeps_late or fixed is None or not isinstance(stage.late, DropLate):
        return ""
    by = f"greatest({request.watermark_sql} - ({over_at(fixed.last_end(_placed_at(stage)), stage.lateness)}), 1L)"
    unit = f"pow(10, greatest(floor(log10({by})) - 1, 0))"
    return f" WHEN _judged = {Fate.LATE.value} THEN CAST(ceil({by} / {unit}) * {unit} AS BIGINT)"


def _judging_watermarks(stage: Aggregate, request: PartialAggregation) -> dict[str, str]:
    """SQL of what a row is judged by, which a late one carries along."""
    watermark = request.watermark_sql
    if isinstance(stage.window, MovingKind) and request.row_watermarks is not None:
        # A row of its own piece is judged by how far its source has come, too.
        watermark = f"greatest({PARTITION_WATERMARK}, {WATERMARK_THEN})"
    return {JUDGED_TIME: TIME if stage.since is None else _SINCE_TIME, JUDGED_WATERMARK: watermark}


def _session_late(stage: Aggregate, request: PartialAggregation) -> str | None:
    """Rows whose own session would be over: the step decides, so each comes by itself."""
    if not isinstance(stage.window, MovingKind):
        return None
    return f"_judged = 0 AND {TIME} + {stage.window.own_length} <= {request.watermark_sql}"


def parts_sql(stage: Aggregate, view: str) -> str:
    """A SELECT that has the parts of a stage, in their types."""
    request = PartialAggregation(view, (), 0, None)
    return f"SELECT {', '.join(_each(_parts(stage, request, '')))} FROM (SELECT *, 0L AS {TIME} FROM {view})"


def _parts(stage: Aggregate, request: PartialAggregation, over: str) -> dict[str, str]:
    """SQL by column."""
    parts = {}
    for item in stage.aggregates:
        args, names = [request.row] if takes_whole_rows(item.call) else arguments_of(item.call), part_names(item)
        for part in form_of(item).parts:
            if request.row_types is not None and part.row is not None:
                is_one = item.call.where is None and any(isinstance(arg, Star) for arg in item.call.args)
                parts[names[part.name]] = ONE if is_one else f"CAST({part.row.format(*args)} AS {request.row_types[names[part.name]]})"
                continue
            sql = part.sql.format(*args, seq=f"`{SEQ}`", batch=of_batch(request.batch_id, TIME), time=TIME, over=over)
            if item.call == LAST_HEADERS_CALL and not request.takes_headers:
                headed = f"max(CASE WHEN `_headers` IS NOT NULL THEN `{SEQ}` END){over}"
                sql = headed if part.name == _PLACE else f"CASE WHEN false THEN {sql} END"
            parts[names[part.name]] = sql
    return parts


def has_headers(stage: Aggregate, partials: pa.Table) -> bool:
    """Whether any row came with headers."""
    places = [part_names(item)[_PLACE] for item in stage.aggregates if item.call == LAST_HEADERS_CALL]
    return any(partials[place].null_count < partials.num_rows for place in places)


def traceparents(stage: Aggregate, partials: pa.Table) -> Iterator[str | None]:
    """The trace contexts of some of the rows that were aggregated, None of those without: of each group's last, in the first few groups."""
    for item in stage.aggregates:
        column = part_names(item)[_VALUE] if item.call == LAST_HEADERS_CALL else ""
        if column in partials.column_names:
            for entries in partials[column].slice(0, _GROUPS_SAMPLED).to_pylist():
                yield next((entry["value"] for entry in entries or () if entry["key"] == TRACEPARENT), None)


def _moves_clock(stage: Aggregate) -> str:
    moves = f"_judged NOT IN ({', '.join(str(fate.value) for fate in WATERMARK_NEUTRAL_FATES)})"
    return moves if stage.time.punctuation is None else f"{moves} AND {to_sql(stage.time.punctuation)}"


def moves_clock_sql(stage: Aggregate, max_future: int) -> str:
    """SQL that is true for a row that moves the statement's own clock, before rows are judged."""
    sound = f"_fate_in = 0 AND {TIME} <= unix_micros(`_timestamp`) + {max_future}"
    return sound if stage.time.punctuation is None else f"{sound} AND {to_sql(stage.time.punctuation)}"


def _is_of(partition: int, request: PartialAggregation) -> str:
    return "TRUE" if request.partition_sql is None else f"{request.partition_sql} = {partition}"


def _clock_columns(stage: Aggregate, request: PartialAggregation) -> list[str]:
    moves = _moves_clock(stage)
    return [f"max({TIME}) FILTER (WHERE {_is_of(p, request)} AND {moves}) AS {CLOCK}{p}" for p in request.partitions]


def _grouped(stage: Aggregate, request: PartialAggregation, judged: str) -> str:
    """One row per group and slice; what was set aside, one row each."""
    keys = [name for name, _ in stage.keys]
    late = _session_late(stage, request)
    carried = _is_carried(stage) if late is None else f"({_is_carried(stage)}) OR ({late})"
    placed = f"_judged IN ({Fate.OK.value}, {Fate.LATE.value})" if request.keeps_late else "_judged = 0"
    group = [f"CASE WHEN {placed} THEN {name} END AS {name}" for name in keys]
    group.append(f"CASE WHEN {placed} THEN {SLICE}{_dropped_by(stage, request)} END AS {SLICE}")
    group.append(f"{diverted_row(request.columns, carried, _judging_watermarks(stage, request))} AS {ROW}")
    if late is not None:
        group.append(f"CASE WHEN {late} THEN {TIME} END AS {LATE_ID}")
    pieces = _piece_columns(stage)
    names = [*keys, SLICE, "_judged", ROW, *([LATE_ID] if late is not None else []), *pieces]
    fixed = fixed_of(stage)
    is_exploded = fixed is not None and fixed.overlaps and stage.partial_shape is PartialShape.WINDOWS
    is_once = f"(_judged <> 0 OR {SLICE} = {_counted_at(stage, request)})" if is_exploded else None
    counted = " AND ".join(each for each in (is_once, _is_accounted(stage)) if each is not None)
    once = f"count_if({counted})" if counted else "count(1)"
    wanted = [f"count(1) AS {COUNT}", f"{once} AS {ROWS_COUNT}", *_each(_parts(stage, request, ""))]
    if stage.partial_shape is PartialShape.WINDOWS and SEQ in request.columns:
        wanted.append(f"min(`{SEQ}`) AS {SEQ}")
    if isinstance(stage.window, MovingKind):
        wanted.extend([f"min({TIME}) AS {FIRST}", f"max({TIME}) AS {LAST}"])
    wanted.extend(_clock_columns(stage, request))
    if (included := _is_included(stage, request)) is not None:
        wanted.append(f"count_if(_judged = 0 AND {included}) AS {INCLUDED}")
    kept = [
        *request.columns,
        TIME,
        *([] if stage.since is None else [_SINCE_TIME]),
        *pieces,
        *([PARTITION_WATERMARK] if request.row_watermarks is not None else []),
    ]
    marked = f"SELECT {', '.join([*(quote(c) for c in kept), '_judged', *group])} FROM ({judged})"
    by = ", ".join(names)
    return f"SELECT {by}, {', '.join(wanted)} FROM ({marked}) GROUP BY {by}"


def _row_by_row(stage: Aggregate, request: PartialAggregation, judged: str, frame: str) -> str:
    """One row per input row (and window), with partials over the batch so far or of the row alone."""
    return f"SELECT {', '.join(_each(row_columns(stage, request, frame)))} FROM ({judged})"


def _each(columns: Mapping[str, str]) -> list[str]:
    return [f"{sql} AS {name}" for name, sql in columns.items()]


def row_columns(stage: Aggregate, request: PartialAggregation, frame: str = "") -> dict[str, str]:
    """SQL by column, of rows that come one by one."""
    keys = [name for name, _ in stage.keys]
    pieces = _piece_columns(stage)
    partition = ", ".join([*keys, SLICE, "_judged", *pieces[:1]])
    over = f" OVER (PARTITION BY {partition} ORDER BY `{SEQ}` {frame})"
    late = _session_late(stage, request)
    carried = _is_carried(stage) if late is None else f"({_is_carried(stage)}) OR ({late})"
    fixed = fixed_of(stage)
    is_exploded = fixed is not None and fixed.overlaps
    is_once = f"(_judged <> 0 OR {SLICE} = {_counted_at(stage, request)})" if is_exploded else None
    counted = " AND ".join(each for each in (is_once, _is_accounted(stage)) if each is not None)
    once = f"CASE WHEN {counted} THEN 1L ELSE 0L END" if counted else ONE
    wanted = {name: name for name in (*keys, SLICE, "_judged")}
    wanted.update({ROW: diverted_row(request.columns, carried, _judging_watermarks(stage, request)), SEQ: f"`{SEQ}`"})
    wanted.update({COUNT: f"count(1){over}" if request.row_types is None else ONE, ROWS_COUNT: once, **_parts(stage, request, over)})
    wanted.update({name: name for name in pieces})
    if stage.when:
        wanted[WHEN] = WHEN
    if isinstance(stage.window, MovingKind | CountedKind):
        wanted.update({FIRST: TIME, LAST: TIME})
    if late is not None:
        wanted[LATE_ID] = f"CASE WHEN {late} THEN {TIME} END"
    if (included := _is_included(stage, request)) is not None:
        wanted[INCLUDED] = f"CASE WHEN _judged = 0 AND {included} THEN 1L ELSE 0L END"
    moves = _moves_clock(stage)
    wanted.update({f"{CLOCK}{p}": f"CASE WHEN {_is_of(p, request)} AND {moves} THEN {TIME} END" for p in request.partitions})
    return wanted


def finish_sql(item: AggregateItem, types: Mapping[str, str]) -> str:
    """An aggregate's value from its merged parts, of which ``types`` has the types."""
    args = arguments_of(item.call)
    form = form_of(item)
    constants = {str(i): args[i] for i in form.constant_args if i < len(args)}
    names = {name: quote(column) for name, column in part_names(item).items()}
    text = form.finish
    if form.total_of is not None:
        text = text.replace("{total}", _total_sql(f"{{{form.total_of}}}", _element(types[part_names(item)[form.total_of]])))
    for name, value in {**names, **constants}.items():
        text = text.replace("{" + name + "}", value)
    mean = None if form.mean_of is None else _mean_type(types[part_names(item)[form.mean_of]])
    return text if mean is None else f"CAST({text} AS {mean})"


def _element(list_type: str) -> str:
    return list_type.removeprefix("array<").removesuffix(">")


def _mean_type(type_: str) -> str | None:
    """What Spark's AVG gives of decimals, told by the type of their sum or of a list of them; None where they are none.

    >>> _mean_type("decimal(20,2)"), _mean_type("array<decimal(10,2)>"), _mean_type("double")
    ('DECIMAL(14,6)', 'DECIMAL(14,6)', None)
    """
    if not _element(type_).startswith("decimal("):
        return None
    precision, scale = map(int, _element(type_).removeprefix("decimal(").removesuffix(")").split(","))
    # A sum has ten digits more than its values, unless there are no more to have.
    own = precision if type_.startswith("array<") or precision == _MOST_DIGITS else precision - 10
    return f"DECIMAL({min(_MOST_DIGITS, own + 4)},{min(_MOST_DIGITS, scale + 4)})"


def _total_sql(values: str, element_type: str) -> str:
    """The sum of an array. An array has no SUM of its own, and adding up must start with a number of the right type."""
    type_ = _sum_type(element_type)
    return f"CASE WHEN size({values}) > 0 THEN aggregate({values}, CAST(0 AS {type_}), (a, e) -> CAST(a + e AS {type_})) END"


def _sum_type(element_type: str) -> str:
    """What Spark's SUM gives.

    >>> _sum_type("decimal(10,2)"), _sum_type("int"), _sum_type("float")
    ('DECIMAL(20,2)', 'BIGINT', 'DOUBLE')
    """
    if element_type.startswith("decimal("):
        precision, scale = element_type.removeprefix("decimal(").removesuffix(")").split(",")
        return f"DECIMAL({min(38, int(precision) + 10)},{scale})"
    return "BIGINT" if element_type in ("tinyint", "smallint", "int", "bigint") else "DOUBLE"
