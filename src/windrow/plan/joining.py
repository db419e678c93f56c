"""FROM with joins as stages of their own: tables complete rows, streams are paired within a bound of time.

What follows (WHERE, GROUP BY, WINDOW, the select list) is planned as over any other stream, on physical column names.
``SELECT *`` gives the columns of all inputs in the order of FROM; two of the same name are refused by the checks, as a stream
cannot have both, and USING makes one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from windrow.catalog.asof import TimeOrder, read_asof
from windrow.catalog.binding import all_of
from windrow.catalog.time_bounds import TimeBound, conjuncts, equality_of, find_bound, find_bounds
from windrow.catalog.typing import item_name
from windrow.model.expr import Binary, Call, Cast, Column, Expr, Interval, Literal, Node, Over, transform, walk
from windrow.model.options import Options
from windrow.model.policies import MissingTableRow
from windrow.model.query import Join, JoinKind, NamedSource, Select, SelectItem, Source
from windrow.model.types import INT, TIMESTAMP, TIMESTAMP_NTZ
from windrow.model.window import DeadLetterLate, DropLate, EventTime, UpdatePrevious, WindowClause
from windrow.model.window_kinds import FixedKind
from windrow.plan.asof_joining import newest_row, plan_asof
from windrow.plan.join_filters import filters_of, with_selected_columns
from windrow.plan.join_keys import JoinSides, physical, pruned
from windrow.plan.join_names import JoinedColumns, JoinInput
from windrow.plan.pushdown import Pushed, columns_of
from windrow.plan.selects import has_groups, lateness_of
from windrow.plan.sources import DEFAULT_RETRY_FOR, duration_option, is_strict, table_wait
from windrow.plan.stages import IntervalJoin, JoinWindow, Lookup, LookupJoin, Side
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.plan.window_joining import at_close, plan_window_join, windows_close
from windrow.sql.durations import show_duration
from windrow.windowing.columns import FINAL

JoinStage = LookupJoin | IntervalJoin | AsofJoin | WindowJoin


@dataclass(frozen=True)
class Joined:
    """The stages of a join, the last of which gives the rows that ``select`` reads."""

    stages: tuple[JoinStage, ...]
    select: Select
    # The least time of a row's parts, where they are joined inside windows that overlap.
    since: Expr | None = None
    # Items of ``select`` that nobody wrote: system columns of what it puts out.
    beside: frozenset[str] = frozenset()

    @property
    def output(self) -> str:
        return self.stages[-1].name


def plan_joins(name: str, select: Select, options: Options, inputs: tuple[JoinInput, ...], views: tuple[JoinInput, ...] = ()) -> Joined:
    """``select`` is bound; ``views`` are what its lateral views add to the joined rows."""
    columns = JoinedColumns.of((*inputs, *views))
    inputs = with_selected_columns(inputs, select)
    pushed = filters_of(select, inputs, is_strict=is_strict(options))
    select, beside = replace(select, where=pushed.where), frozenset[str]()
    flat = replace(select, source=None, joins=())
    closes = windows_close(select, inputs, pushed, columns)
    if not closes:
        flat, beside = _pairs_of_windows(flat, inputs)
    chain = _Chain(name, options, columns, inputs, select, flat, pushed, closes)
    return Joined(tuple(chain.stages()), at_close(flat) if closes else flat, chain.since, beside)


def _pairs_of_windows(select: Select, inputs: tuple[JoinInput, ...]) -> tuple[Select, frozenset[str]]:
    """Without groups, a join inside windows puts out its pairs as they are found; each has the bounds and the time of its window.

    What was added to the select list for that is named.
    """
    if select.window is None or not isinstance(select.window.kind, FixedKind) or select.window.kind.overlaps or has_groups(select):
        return select, frozenset()
    times = tuple(Column(given.name_of("_event_time")) for given in inputs if not given.is_table)
    if len(times) == 1:
        # A stream that looks tables up: its own rows have windows.
        return select, frozenset()
    kind = select.window.kind
    start = _last_start(_micros(Call("coalesce", times) if len(times) > 1 else times[0]), kind)
    bounds: dict[str, Expr] = {
        "_window_start": Call("timestamp_micros", (start,)),
        "_window_end": Call("timestamp_micros", (Binary("+", start, Literal(kind.size)),)),
    }

    def bound(node: Node) -> Node | None:
        return bounds.get(node.name.lower()) if isinstance(node, Column) and node.qualifier is None else None

    named = {item_name(item).lower() for item in select.items}
    last = Call("timestamp_micros", (Binary("+", start, Literal(kind.last_instant(kind.size))),))
    beside: dict[str, Expr] = {"_event_time": last}
    if not any(isinstance(node, Over) for item in select.items for node in walk(item.expr)):
        own = {name: Column(name) for name in bounds}
        beside |= {**own, "_emission": Literal(FINAL), "_revision": Cast(Literal(1), INT)}
    added = {name: expr for name, expr in beside.items() if name not in named}
    items = (*select.items, *(SelectItem(expr, name) for name, expr in added.items()))
    return transform(replace(select, items=items, window=None), bound), frozenset(added)


@dataclass
class _Chain:
    """Joins are done from left to right; neighbouring tables share one stage."""

    name: str
    options: Options
    columns: JoinedColumns
    inputs: tuple[JoinInput, ...]
    select: Select
    flat: Select
    pushed: Pushed
    # Whether windows are joined when they close.
    closes: bool
    made: int = 0
    since: Expr | None = None
    # By how much the rows joined so far may be older, in the times of their parts, than in their own.
    lag: int = 0

    def stages(self) -> Iterable[JoinStage]:
        joins = list(enumerate(self.select.joins, 1))
        current = _side(self.inputs[0])
        pending: list[Lookup] = []
        if self.inputs[0].is_table:
            # The table is what is looked up, on whichever side of JOIN it stands.
            (position, first), *joins = joins
            current = _side(self.inputs[position])
            pending.append(self._lookup(self.inputs[0], first))
        for position, join in joins:
            given = self.inputs[position]
            if given.is_table:
                pending.append(self._lookup(given, join))
                continue
            if pending:
                yield (lookup_join := self._lookup_join(current, pending))
                current, pending = _output(lookup_join, (current, *(lookup.table for lookup in pending))), []
            yield (paired := self._join(current, _side(given), join, position))
            current = _output(paired, (current, _side(given)))
        if pending:
            yield self._lookup_join(current, pending)

    def _stage_name(self) -> str:
        self.made += 1
        return f"{self.name}/join" if self.made == 1 else f"{self.name}/join{self.made}"

    def _lookup(self, given: JoinInput, join: Join) -> Lookup:
        """A stated ``join.on_missing`` wins over the kind of join; without one, INNER skips and LEFT gives NULLs.

        So it is for a row that has waited in vain.
        """
        stated = None if self._retry_for is not None else self.options.get("join.on_missing")
        usual = MissingTableRow.NULL if join.kind in (JoinKind.LEFT, JoinKind.RIGHT) else MissingTableRow.SKIP
        as_of = next((s.as_of for s in self._sources if isinstance(s, NamedSource) and (s.alias or s.name).lower() == given.alias), None)
        own = {column.name for column in given.physical}
        on_missing = MissingTableRow((stated or usual).lower())
        if join.is_asof:
            equal_rows, newest = newest_row(join.on, own)
            return Lookup(_side(given), equal_rows, on_missing, given.rows, newest=newest)
        equal = [found for part in conjuncts(join.on) if (found := equality_of(part)) is not None]
        compared = tuple(side.name for part in equal for side in (part.left, part.right) if isinstance(side, Column) and side.name in own)
        return Lookup(_side(given), join.on, on_missing, given.rows, as_of, compared if as_of is not None else ())

    @property
    def _sources(self) -> list[Source]:
        return [s for s in (self.select.source, *(join.source for join in self.select.joins)) if s is not None]

    def _lookup_join(self, stream: Side, lookups: list[Lookup]) -> LookupJoin:
        tables = ", ".join(dict.fromkeys(table for lookup in lookups for table in lookup.tables))
        reason = f"the rows of {tables} are at hand: each row is completed as it comes"
        return LookupJoin(self._stage_name(), stream, tuple(lookups), table_wait(self.options), self._is_strict, reason, self._retry_for)

    @property
    def _retry_for(self) -> int | None:
        """How long a row that finds nothing waits for it to be there; None where it does not wait at all."""
        if (self.options.get("join.on_missing") or "").lower() != MissingTableRow.WAIT:
            return None
        return duration_option(self.options, "join.wait.timeout", DEFAULT_RETRY_FOR)

    @property
    def _is_strict(self) -> bool:
        return is_strict(self.options)

    def _join(self, left: Side, right: Side, join: Join, position: int) -> IntervalJoin | AsofJoin | WindowJoin:
        """A join of two streams: the newest earlier row, rows of the same window, or rows close in time."""
        sides = JoinSides.of_sides(self.columns, left, right)
        own = list(self.pushed.steps[position - 1].conditions)
        if join.is_asof:
            return self._asof(left, right, own, sides, position)
        conditions = [*own, *(conjuncts(self.flat.where) if self._where_is_on else ())]
        if self.closes:
            return self._window(left, right, own, sides, position)
        return self._pair(left, right, join, own, conditions, sides, position)

    def _pair(
        self, left: Side, right: Side, join: Join, own: list[Expr], conditions: list[Expr], sides: JoinSides, position: int
    ) -> IntervalJoin:
        bound, inside = self._bound(join, conditions, sides, left, right)
        keys = sides.keys(conditions)
        residual = all_of([*(c for c in own if c not in keys.used and c not in bound.said_by), *inside.conditions])
        pairs = (*keys.pairs, *inside.keys)
        times = (bound.left, bound.right)
        left, right = self._pruned((left, right), position, pairs, times, residual)
        lag = 0 if bound.left == event_time(left) else self.lag
        self.lag = lag + max(abs(bound.low), abs(bound.high))
        kind = self.pushed.steps[position - 1].kind
        return IntervalJoin(
            self._stage_name(),
            left,
            right,
            pairs,
            times,
            bound.low,
            bound.high,
            residual,
            keeps_left=kind in (JoinKind.LEFT, JoinKind.FULL),
            keeps_right=kind in (JoinKind.RIGHT, JoinKind.FULL),
            lag=lag,
            is_strict=is_strict(self.options),
            reason=_why_kept(bound, inside),
            inside=inside.window,
            late=self._late,
            nulls_meet=(*keys.nulls_meet, *(False for _ in inside.keys)),
            rewrites=self.pushed.rewrites(position - 1),
        )

    def _asof(self, left: Side, right: Side, own: list[Expr], sides: JoinSides, position: int) -> AsofJoin:
        found = read_asof(own, sides.of_expr)
        found = replace(found, orders=tuple(self._by_event_time(order) for order in found.orders))
        keys, times = tuple(sides.key_pair(equal) for equal in found.equalities), (found.orders[0].left, found.orders[0].right)
        left, right = self._pruned((left, right), position, keys, times, None)
        lag = 0 if times[0] == event_time(left) else self.lag
        kind = self.pushed.steps[position - 1].kind
        made = plan_asof(self._stage_name(), (left, right), found, keys, lag=lag, keeps_left=kind is JoinKind.LEFT)
        return replace(made, is_strict=is_strict(self.options), late=self._late)

    def _by_event_time(self, order: TimeOrder) -> TimeOrder:
        """A column that a stream takes its event time from need not hold a time: it stands for the event time, which does."""
        fields = {given.name_of(given.time_field): given for given in self.inputs if given.time_field is not None}

        def time(expr: Expr) -> Expr:
            is_field = isinstance(expr, Column) and expr.name in fields and self.columns.type_of(expr) not in (TIMESTAMP, TIMESTAMP_NTZ)
            return Column(fields[expr.name].name_of("_event_time")) if is_field and isinstance(expr, Column) else expr

        return replace(order, left=time(order.left), right=time(order.right))

    def _window(self, left: Side, right: Side, own: list[Expr], sides: JoinSides, position: int) -> WindowJoin:
        assert self.select.window is not None
        keys = sides.keys(own)
        residual = all_of(c for c in own if c not in keys.used)
        times = (event_time(left), event_time(right))
        left, right = self._pruned((left, right), position, keys.pairs, times, residual)
        kind = self.pushed.steps[position - 1].kind
        made = plan_window_join(self._stage_name(), (left, right), keys, residual, self.select.window, kind)
        return replace(made, is_strict=is_strict(self.options), late=self._late, rewrites=self.pushed.rewrites(position - 1))

    @property
    def _late(self) -> DeadLetterLate | DropLate:
        return DropLate() if self.select.window is not None and isinstance(self.select.window.late, DropLate) else DeadLetterLate()

    def _pruned(
        self, sides: tuple[Side, Side], position: int, keys: tuple[tuple[Expr, Expr], ...], times: tuple[Expr, Expr], residual: Expr | None
    ) -> tuple[Side, Side]:
        """The sides with the columns that are kept and those that are only compared as rows come, and their filters."""
        later = [condition for condition in (residual, self.since) if condition is not None]
        kept = columns_of([self.flat]) | columns_of(later) | self._later_conditions(position)
        filters = self.pushed.filters[position - 1]
        found = []
        for index, (side, where) in enumerate(zip(sides, (all_of(filters.left), all_of(filters.right)), strict=True)):
            compared = columns_of([*(pair[index] for pair in keys), times[index], *([] if where is None else [where])])
            found.append(pruned(side, kept, compared, where))
        return found[0], found[1]

    @property
    def _where_is_on(self) -> bool:
        """Whether WHERE may be read as part of ON: not where an outer join makes rows after it."""
        return all(step.kind in (JoinKind.INNER, JoinKind.CROSS) for step in self.pushed.steps)

    def _later_conditions(self, position: int) -> set[str]:
        """Columns that joins after this one ask for, in their conditions and filters."""
        later = self.pushed.steps[position:]
        filters = (condition for each in self.pushed.filters[position:] for condition in each.left)
        conditions = [condition for step in later for condition in step.conditions]
        return columns_of([*conditions, *map(self._by_row_time, conditions), *filters])

    def _bound(self, join: Join, conditions: list[Expr], sides: JoinSides, left: Side, right: Side) -> tuple[TimeBound, _Inside]:
        times = event_time(left), event_time(right)
        if join.within is not None:
            return TimeBound(*times, -join.within.before, join.within.after, ()), _Inside()
        found = self._bound_by_row_times(conditions, sides) or find_bound(conditions, sides.of_time)
        if found is not None:
            return found, _Inside()
        clause = self.select.window
        assert clause is not None, "a join without a time bound passed the checks"
        kind = clause.kind
        assert isinstance(kind, FixedKind), "windows whose bounds the rows make passed the checks"
        # Rows that share a window are less than its size apart.
        bound = TimeBound(*times, 1 - kind.size, kind.size - 1, ())
        if kind.cycle is not None:
            starts = (_last_start(_micros(times[0]), kind), _last_start(_micros(times[1]), kind))
            return bound, _Inside(keys=(starts,), window=_join_window(clause, kind))
        return bound, replace(self._inside_overlapping(kind, right), window=_join_window(clause, kind))

    def _bound_by_row_times(self, conditions: list[Expr], sides: JoinSides) -> TimeBound | None:
        """Where bounds of windows are compared: how far apart the event times of the rows may be."""
        named = columns_of(conditions)
        if not any(given.name_of(name) in named for given in self.inputs for name in given.window_times):
            return None
        times = {given.name_of("_event_time") for given in self.inputs}
        bounds = find_bounds([self._by_row_time(condition) for condition in conditions], sides.of_time)
        found = next((bound for bound in bounds if {bound.left.name, bound.right.name} <= times), None)
        # The conditions themselves are asked of every pair.
        return None if found is None else replace(found, said_by=())

    def _owner(self, column: Column) -> tuple[JoinInput, str] | None:
        """The input that a physical column belongs to, and its name there."""
        alias, _, name = column.name.partition(".")
        return next(((given, name) for given in self.inputs if given.alias == alias), None)

    def _window_shift(self, column: Column) -> int | None:
        """How far a bound of a window is from the event time of its row; None of any other column."""
        owner = self._owner(column)
        return None if owner is None else owner[0].window_times.get(owner[1])

    def _by_row_time(self, condition: Expr) -> Expr:
        """Bounds of windows, and columns that event times are taken from, in terms of the event time of their rows."""

        def change(node: Node) -> Node | None:
            owner = self._owner(node) if isinstance(node, Column) else None
            if owner is None or not isinstance(node, Column):
                return None
            shift = 0 if owner[1] == owner[0].time_field else self._window_shift(node)
            time = Column(owner[0].name_of("_event_time"))
            return None if shift is None else Binary("-", time, Interval(shift)) if shift else time

        return transform(condition, change)

    def _inside_overlapping(self, window: FixedKind, right: Side) -> _Inside:
        position = next(place for place, given in enumerate(self.inputs) if given.alias == right.prefix)
        parts = tuple(Column(given.name_of("_event_time")) for given in self.inputs[: position + 1] if not given.is_table)
        self.since = Call("least", parts)
        first, last = _micros(self.since), _micros(Call("greatest", parts))
        return _Inside(conditions=(Binary(">", Binary("+", _last_start(first, window), Literal(window.size)), last),))


@dataclass(frozen=True)
class _Inside:
    """What makes rows of two sides rows of one window: equal keys where windows do not overlap, else conditions."""

    keys: tuple[tuple[Expr, Expr], ...] = ()
    conditions: tuple[Expr, ...] = ()
    window: JoinWindow | None = None


def _why_kept(bound: TimeBound, inside: _Inside) -> str:
    if inside.window is not None:
        return "rows join inside each window: one is kept until the watermark has passed the end of its last window"
    low, high = show_duration(abs(bound.low)), show_duration(abs(bound.high))
    reach = f"from {low} {'before' if bound.low <= 0 else 'after'} to {high} {'after' if bound.high >= 0 else 'before'} the left row"
    return f"a row is kept until the watermark has passed every time it could be paired with: {reach}"


def _join_window(clause: WindowClause, kind: FixedKind) -> JoinWindow:
    """Where late rows are to be counted elsewhere, or make up a stream of pairs, they must first be paired.

    So must they where the windows have another clock than the rows.
    """
    has_own_clock = clause.watermark is not None or clause.time != EventTime()
    is_plain = clause.late in (None, DeadLetterLate()) or isinstance(clause.late, DropLate | UpdatePrevious)
    return JoinWindow(
        kind.size, kind.cycle or kind.pane_step, kind.offset, lateness_of(clause), judges_first=is_plain and not has_own_clock
    )


def _micros(time: Expr) -> Expr:
    return Call("unix_micros", (time,))


def _last_start(micros: Expr, window: FixedKind) -> Expr:
    """The start of the latest window that holds a time; of those that start together, of all of them."""
    step = window.cycle or window.pane_step
    return Binary("-", micros, Call("pmod", (Binary("-", micros, Literal(window.offset)), Literal(step))))


def event_time(side: Side) -> Column:
    """The time of a side's rows: its own, or the joined row's where it is the result of a join."""
    return Column("_event_time" if side.prefix is None else f"{side.prefix}._event_time")


def _side(given: JoinInput) -> Side:
    return Side(given.stage, given.alias, given.columns)


def _output(stage: JoinStage, sides: tuple[Side, ...]) -> Side:
    return Side(stage.name, None, tuple(column for side in sides for column in physical(side)))
