"""FROM with joins as stages of their own: tables complete rows, streams are paired within a bound of time.

What follows (WHERE, GROUP BY, WINDOW, the select list) is planned as over any other stream, on physical column names.
``SELECT *`` gives the columns of all inputs in the order of FROM; two of the same name are refused by the checks, as a stream
cannot have both, and USING makes one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from windrow.catalog.numeric import common_type
from windrow.catalog.time_bounds import SideName, TimeBound, conjuncts, find_bound
from windrow.catalog.typing import item_name
from windrow.model.expr import Binary, Call, Cast, Column, Expr, Literal, Node, Over, transform, walk
from windrow.model.options import Options
from windrow.model.query import Join, JoinKind, NamedSource, Select, SelectItem, Source
from windrow.model.types import INT, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, ColumnDef, DataType
from windrow.model.window import DeadLetterLate, DropLate, EventTime, Sliding, Tumbling, UpdatePrevious, WindowClause
from windrow.plan.join_names import JoinInput, JoinNames, all_of
from windrow.plan.selects import has_groups, lateness_of
from windrow.plan.sources import DEFAULT_PATIENCE, duration_option, is_strict, table_wait
from windrow.plan.stages import Enrich, IntervalJoin, JoinWindow, Lookup, Side
from windrow.sql.durations import show_duration
from windrow.windowing.columns import FINAL


@dataclass(frozen=True)
class Joined:
    """The stages of a join, the last of which gives the rows that ``select`` reads."""

    stages: tuple[Enrich | IntervalJoin, ...]
    select: Select
    # The least time of a row's parts, where they are joined inside windows that overlap.
    since: Expr | None = None
    # Items of ``select`` that nobody wrote: system columns of what it puts out.
    beside: frozenset[str] = frozenset()

    @property
    def output(self) -> str:
        return self.stages[-1].name


def plan_joins(name: str, select: Select, options: Options, inputs: tuple[JoinInput, ...], views: tuple[JoinInput, ...] = ()) -> Joined:
    """``views`` are what lateral views add to the joined rows, for names to be found there."""
    names = JoinNames((*inputs, *views), select.joins)
    flat, beside = _pairs_of_windows(names.select(select), inputs)
    chain = _Chain(name, options, names, inputs, select, flat)
    return Joined(tuple(chain.stages()), flat, chain.since, beside)


def _pairs_of_windows(select: Select, inputs: tuple[JoinInput, ...]) -> tuple[Select, frozenset[str]]:
    """Without groups, a join inside windows puts out its pairs as they are found; each has the bounds and the time of its window.

    What was added to the select list for that is named.
    """
    if select.window is None or not isinstance(select.window.kind, Tumbling) or has_groups(select):
        return select, frozenset()
    times = tuple(Column(given.name_of("_event_time")) for given in inputs if not given.is_table)
    start = _last_start(_micros(Call("coalesce", times) if len(times) > 1 else times[0]), select.window.kind)
    bounds: dict[str, Expr] = {
        "_window_start": Call("timestamp_micros", (start,)),
        "_window_end": Call("timestamp_micros", (Binary("+", start, Literal(select.window.kind.size)),)),
    }

    def bound(node: Node) -> Node | None:
        return bounds.get(node.name.lower()) if isinstance(node, Column) and node.qualifier is None else None

    named = {item_name(item).lower() for item in select.items}
    beside: dict[str, Expr] = {"_event_time": Column("_window_end")}
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
    names: JoinNames
    inputs: tuple[JoinInput, ...]
    select: Select
    flat: Select
    made: int = 0
    since: Expr | None = None
    # By how much the rows joined so far may be older, in the times of their parts, than in their own.
    lag: int = 0

    def stages(self) -> Iterable[Enrich | IntervalJoin]:
        joins = list(enumerate(self.select.joins, 1))
        current = _side(self.inputs[0])
        pending: list[Lookup] = []
        if self.inputs[0].is_table:
            # The table is what is looked up, on whichever side of JOIN it stands.
            (position, first), *joins = joins
            current = _side(self.inputs[position])
            pending.append(self._lookup(self.inputs[0], first, self.names.condition(first, position)))
        for position, join in joins:
            given = self.inputs[position]
            condition = self.names.condition(join, position)
            if given.is_table:
                pending.append(self._lookup(given, join, condition))
                continue
            if pending:
                yield (enrich := self._enrich(current, pending))
                current, pending = _output(enrich, (current, *(lookup.table for lookup in pending))), []
            yield (paired := self._pair(current, _side(given), join, condition))
            current = _output(paired, (current, _side(given)))
        if pending:
            yield self._enrich(current, pending)

    def _stage_name(self) -> str:
        self.made += 1
        return f"{self.name}/join" if self.made == 1 else f"{self.name}/join{self.made}"

    def _lookup(self, given: JoinInput, join: Join, condition: Expr | None) -> Lookup:
        """A stated ``join.on_missing`` wins over the kind of join; without one, INNER skips and LEFT gives NULLs.

        So it is for a row that has waited in vain.
        """
        stated = None if self._patience is not None else self.options.get("join.on_missing")
        usual = "null" if join.kind in (JoinKind.LEFT, JoinKind.RIGHT) else "skip"
        as_of = next((s.as_of for s in self._sources if isinstance(s, NamedSource) and (s.alias or s.name).lower() == given.alias), None)
        own = {column.name for column in given.physical}
        equal = [part for part in conjuncts(condition) if isinstance(part, Binary) and part.op == "="]
        compared = tuple(side.name for part in equal for side in (part.left, part.right) if isinstance(side, Column) and side.name in own)
        resolved = None if as_of is None else self.names.resolve(as_of)
        as_known = compared if resolved is not None else ()
        return Lookup(_side(given), condition, (stated or usual).lower(), given.rows, resolved, as_known)

    @property
    def _sources(self) -> list[Source]:
        return [s for s in (self.select.source, *(join.source for join in self.select.joins)) if s is not None]

    def _enrich(self, stream: Side, lookups: list[Lookup]) -> Enrich:
        tables = ", ".join(dict.fromkeys(table for lookup in lookups for table in lookup.tables))
        reason = f"the rows of {tables} are at hand: each row is completed as it comes"
        return Enrich(self._stage_name(), stream, tuple(lookups), table_wait(self.options), self._is_strict, reason, self._patience)

    @property
    def _patience(self) -> int | None:
        """How long a row that finds nothing waits for it to be there; None where it does not wait at all."""
        if (self.options.get("join.on_missing") or "").lower() != "wait":
            return None
        return duration_option(self.options, "join.wait.timeout", DEFAULT_PATIENCE)

    @property
    def _is_strict(self) -> bool:
        return is_strict(self.options)

    def _pair(self, left: Side, right: Side, join: Join, condition: Expr | None) -> IntervalJoin:
        sides = _Sides(self.names, frozenset(c.name for c in _physical(left)), frozenset(c.name for c in _physical(right)))
        own = list(conjuncts(condition))
        conditions = [*own, *(conjuncts(self.flat.where) if self._where_is_on else ())]
        bound, inside = self._bound(join, conditions, sides, left, right)
        keys, used = sides.keys(conditions)
        residual = all_of([*(c for c in own if c not in used and c not in bound.said_by), *inside.conditions])
        conditions = [condition for condition in (residual, self.since) if condition is not None]
        wanted = _columns_of(self.flat).union(*map(_columns_of, conditions)) | self._later_conditions()
        lag = 0 if bound.left == _event_time(left) else self.lag
        self.lag = lag + max(abs(bound.low), abs(bound.high))
        return IntervalJoin(
            self._stage_name(),
            _pruned(left, wanted),
            _pruned(right, wanted),
            (*keys, *inside.keys),
            (bound.left, bound.right),
            bound.low,
            bound.high,
            residual,
            keeps_left=join.kind in (JoinKind.LEFT, JoinKind.FULL),
            keeps_right=join.kind in (JoinKind.RIGHT, JoinKind.FULL),
            lag=lag,
            is_strict=is_strict(self.options),
            reason=_why_kept(bound, inside),
            inside=inside.window,
            late=DropLate() if self.select.window is not None and isinstance(self.select.window.late, DropLate) else DeadLetterLate(),
        )

    @property
    def _where_is_on(self) -> bool:
        """Whether WHERE may be read as part of ON: not where an outer join makes rows after it."""
        return all(each.kind in (JoinKind.INNER, JoinKind.CROSS) for each in self.select.joins)

    def _later_conditions(self) -> set[str]:
        """Columns that joins ask for: a later one may need them of an earlier one."""
        conditions = (self.names.condition(join, position) for position, join in enumerate(self.select.joins, 1))
        return {name for condition in conditions if condition is not None for name in _columns_of(condition)}

    def _bound(self, join: Join, conditions: list[Expr], sides: _Sides, left: Side, right: Side) -> tuple[TimeBound, _Inside]:
        times = _event_time(left), _event_time(right)
        if join.within is not None:
            return TimeBound(*times, -join.within.before, join.within.after, ()), _Inside()
        found = find_bound(conditions, sides.of_time)
        if found is not None:
            return found, _Inside()
        clause = self.select.window
        assert clause is not None, "a join without a time bound passed the checks"
        kind = clause.kind
        assert isinstance(kind, Tumbling | Sliding), "windows whose bounds the rows make passed the checks"
        # Rows that share a window are less than its size apart.
        bound = TimeBound(*times, 1 - kind.size, kind.size - 1, ())
        if isinstance(kind, Tumbling):
            starts = (_last_start(_micros(times[0]), kind), _last_start(_micros(times[1]), kind))
            return bound, _Inside(keys=(starts,), window=_join_window(clause, kind))
        return bound, replace(self._inside_overlapping(kind, right), window=_join_window(clause, kind))

    def _inside_overlapping(self, window: Sliding, right: Side) -> _Inside:
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


def _join_window(clause: WindowClause, kind: Tumbling | Sliding) -> JoinWindow:
    """Where late rows are to be counted elsewhere, or make up a stream of pairs, they must first be paired.

    So must they where the windows have another clock than the rows.
    """
    has_own_clock = clause.watermark is not None or clause.time != EventTime()
    is_plain = clause.late in (None, DeadLetterLate()) or isinstance(clause.late, DropLate | UpdatePrevious)
    advance = kind.size if isinstance(kind, Tumbling) else kind.advance
    return JoinWindow(kind.size, advance, kind.offset, lateness_of(clause), judges_first=is_plain and not has_own_clock)


def _micros(time: Expr) -> Expr:
    return Call("unix_micros", (time,))


def _last_start(micros: Expr, window: Tumbling | Sliding) -> Expr:
    """The start of the latest window that holds a time."""
    advance = window.size if isinstance(window, Tumbling) else window.advance
    return Binary("-", micros, Call("pmod", (Binary("-", micros, Literal(window.offset)), Literal(advance))))


def _event_time(side: Side) -> Column:
    """The time of a side's rows: its own, or the joined row's where it is the result of a join."""
    return Column("_event_time" if side.prefix is None else f"{side.prefix}._event_time")


def _side(given: JoinInput) -> Side:
    return Side(given.stage, given.alias, given.columns)


def _physical(side: Side) -> tuple[ColumnDef, ...]:
    """A side's columns under their physical names, system columns too."""
    if side.prefix is None:
        return side.columns
    return JoinInput(side.prefix, side.input, side.columns, False).physical


def _output(stage: Enrich | IntervalJoin, sides: tuple[Side, ...]) -> Side:
    return Side(stage.name, None, tuple(column for side in sides for column in _physical(side)))


def _pruned(side: Side, wanted: set[str]) -> Side:
    """Only what is asked for is kept: rows wait in memory."""
    if side.prefix is None:
        return replace(side, columns=tuple(c for c in side.columns if c.name in wanted))
    every = JoinInput(side.prefix, side.input, side.columns, False)
    start = len(side.prefix) + 1
    return replace(side, columns=tuple(replace(c, name=c.name[start:]) for c in every.physical if c.name in wanted))


def _columns_of(node: Node) -> set[str]:
    return {found.name for found in walk(node) if isinstance(found, Column)}


@dataclass(frozen=True)
class _Sides:
    """Which side of a join a column belongs to."""

    names: JoinNames
    left: frozenset[str]
    right: frozenset[str]

    def of(self, column: Column) -> SideName | None:
        return "left" if column.name in self.left else "right" if column.name in self.right else None

    def of_time(self, column: Column) -> SideName | None:
        return self.of(column) if self.names.type_of(column) in (TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN) else None

    def keys(self, conditions: list[Expr]) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
        """Equalities of something on the left and something on the right, and the conditions that they are."""
        keys: list[tuple[Expr, Expr]] = []
        used: list[Expr] = []
        for condition in conditions:
            if not isinstance(condition, Binary) or condition.op != "=":
                continue
            sides = self._all_of(condition.left), self._all_of(condition.right)
            pair = (condition.left, condition.right) if sides == ("left", "right") else (condition.right, condition.left)
            if set(sides) == {"left", "right"}:
                keys.append(self._same_type(*pair))
                used.append(condition)
        return keys, used

    def _all_of(self, expr: Expr) -> SideName | None:
        found = {self.of(node) for node in walk(expr) if isinstance(node, Column)}
        return found.pop() if len(found) == 1 else None

    def _same_type(self, left: Expr, right: Expr) -> tuple[Expr, Expr]:
        """Keys are compared as they are, so different types are made one first."""
        types = [self._type(left), self._type(right)]
        if UNKNOWN in types or types[0] == types[1]:
            return left, right
        common = common_type(types)
        return (left, right) if common == UNKNOWN else (Cast(left, common), Cast(right, common))

    def _type(self, expr: Expr) -> DataType:
        return self.names.type_of(expr) if isinstance(expr, Column) else expr.type if isinstance(expr, Cast) else UNKNOWN
