"""Windows as functions, as Flink, RisingWave and Spark write them, read as the WINDOW clause that means the same.

Two forms: a table function, ``FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))`` with GROUP BY window_start, window_end;
and a function in GROUP BY, ``GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)`` with TUMBLE_START(...) in the select list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from windrow.model.expr import Binary, Call, Column, Expr, Field, Interval, Literal, Node, Over, Star, children, walk
from windrow.model.expr import transform as transform_expr
from windrow.model.place import Span
from windrow.model.query import NamedSource, Select, SelectItem, Union
from windrow.model.window import EventTime, WindowClause
from windrow.model.window_kinds import BOUND_PREFIXES, SPELLINGS, FixedKind, MovingKind
from windrow.sql import codes
from windrow.sql.calls import WINDOW_BOUNDS
from windrow.sql.cursor import Cursor, SyntaxFaultError
from windrow.sql.dialect import Kind, Token
from windrow.sql.lengths import parse_length, read_duration
from windrow.sql.windows import build_window, event_time_of
from windrow.sql.words import AGGREGATE_NAMES, quote_name

TABLE_FUNCTIONS = tuple(prefix.upper() for prefix in BOUND_PREFIXES)
"""Flink's window table functions."""

_LAST = "window_time"
_BOUND_COLUMNS = {"window_start": "_window_start", "window_end": "_window_end", _LAST: _LAST}
_OF_WINDOW = {"start": "_window_start", "end": "_window_end"}


@dataclass(frozen=True)
class WindowTable:
    """A table function: what it reads, its window, and the keys that its sessions belong to."""

    source: NamedSource
    window: WindowClause
    partition_by: tuple[Expr, ...]
    span: Span


def at_window_table(cursor: Cursor) -> bool:
    return cursor.at("TABLE", "(") or (cursor.at_any(TABLE_FUNCTIONS) and cursor.peek(1).key == "(")


def read_window_table(cursor: Cursor) -> WindowTable:
    """``TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), size))``, or RisingWave's ``TUMBLE(t, ts, size)``."""
    start = cursor.peek()
    is_wrapped = cursor.take("TABLE", "(")
    word = cursor.peek()
    if not cursor.at_any(TABLE_FUNCTIONS):
        raise cursor.expected(f"one of {', '.join(TABLE_FUNCTIONS)} in TABLE(...)", *TABLE_FUNCTIONS)
    cursor.advance()
    cursor.expect("(")
    _take_label(cursor, "DATA")
    cursor.take("TABLE")
    name = cursor.peek()
    source = NamedSource(cursor.name("the name of a stream"), span=name.span)
    partition_by = [cursor.expr()] if cursor.take("PARTITION", "BY") else []
    while partition_by and cursor.at(",") and not cursor.at(",", "DESCRIPTOR"):
        cursor.advance()
        partition_by.append(cursor.expr())
    cursor.expect(",")
    _take_label(cursor, "TIMECOL")
    time = _read_descriptor(cursor)
    labelled = []
    while cursor.take(","):
        label = next((label for label in _LABELS if _take_label(cursor, label)), "")
        at = cursor.peek()
        micros = read_duration(cursor)
        labelled.append((label, micros, cursor.since(at)))
    lengths = [(micros, span) for _, micros, span in sorted(labelled, key=lambda length: _LABELS.get(length[0], 0))]
    cursor.expect(*([")", ")"] if is_wrapped else [")"]))
    window = _build(cursor, word, time, lengths)
    alias = cursor.alias()
    return WindowTable(replace(source, alias=alias), window, tuple(partition_by), cursor.since(start))


# SIZE => INTERVAL '1' MINUTE: where each stands among the arguments.
_LABELS = {"SLIDE": 0, "STEP": 0, "GAP": 0, "SIZE": 1, "OFFSET": 2}


def _take_label(cursor: Cursor, label: str) -> bool:
    return cursor.take(label, "=", ">")


def _read_descriptor(cursor: Cursor) -> Column:
    is_descriptor = cursor.take("DESCRIPTOR", "(")
    start = cursor.peek()
    column = Column(cursor.name("the name of a column"), span=start.span)
    if is_descriptor:
        cursor.expect(")")
    return column


def _build(cursor: Cursor, word: Token, time: Column | None, lengths: list[tuple[int, Span]]) -> WindowClause:
    """The clause of a window that names its slide before its size, and its offset last."""
    count = len(SPELLINGS[word.key].lengths)
    sizes, rest = lengths[:count], lengths[count:]
    if word.key == "HOP":
        sizes.reverse()
    if len(rest) > 1:
        raise cursor.fault(codes.BAD_WINDOW, f"{word.key} has a length too many", rest[1][1], "remove it")
    return build_window(cursor, word, sizes, EventTime() if time is None else event_time_of(time), rest[0][0] if rest else None)


def with_window_table(cursor: Cursor, select: Select, table: WindowTable) -> Select:
    """A select over a table function: its window becomes the clause, window_start and window_end the system columns."""
    if select.window is not None:
        raise cursor.fault(codes.REPEATED, "this query has two windows", table.span, "remove the WINDOW clause")
    names = {None, (table.source.alias or table.source.name).lower()}

    def bound(node: Node) -> str | None:
        is_ours = isinstance(node, Column) and (node.qualifier.lower() if node.qualifier else None) in names
        return _BOUND_COLUMNS.get(node.name.lower()) if is_ours and isinstance(node, Column) else None

    grouped = {name for expr in select.group_by if (name := bound(expr)) is not None}
    keys = tuple(expr for expr in select.group_by if bound(expr) is None)
    line = _clause_line(table, keys)
    # One bound says which window it is, but of windows that start together.
    is_plain = not isinstance(table.window.kind, FixedKind) or table.window.kind.start_tells_end
    is_grouped = bool(grouped - {_LAST}) if is_plain else {"_window_start", "_window_end"} <= grouped
    if not is_grouped and not _puts_out_rows(select):
        message = "a window as a table is grouped by window_start and window_end"
        raise cursor.fault(codes.FOREIGN, message, table.span, f"write GROUP BY window_start, window_end, ... or: {line}")
    if table.partition_by and set(table.partition_by) != set(keys):
        message = "a session belongs to the keys of GROUP BY: PARTITION BY must name the same"
        raise cursor.fault(codes.FOREIGN, message, table.span, f"write {line}")
    if not table.partition_by and keys and isinstance(table.window.kind, MovingKind):
        message = "sessions of all rows together cannot be grouped by a key"
        raise cursor.fault(codes.FOREIGN, message, table.span, f"write {line} for sessions of each key")
    items = select.items if grouped else tuple(each for item in select.items for each in _with_bounds(item))
    select = replace(select, items=items, group_by=keys, window=table.window)
    return _replaced(select, bound)


def _with_bounds(item: SelectItem) -> tuple[SelectItem, ...]:
    """A star of the table function has the bounds of the window, too."""
    if not isinstance(item.expr, Star):
        return (item,)
    return (item, *(SelectItem(Column(column, span=item.expr.span), name) for name, column in _BOUND_COLUMNS.items() if name != _LAST))


def _puts_out_rows(select: Select) -> bool:
    """Whether nothing is aggregated. Then rows have the bounds of their windows."""

    def is_aggregated(node: Node) -> bool:
        if isinstance(node, Over):
            return False
        is_one = isinstance(node, Call) and (node.name.lower() in AGGREGATE_NAMES or node.distinct or node.where is not None)
        return is_one or any(map(is_aggregated, children(node)))

    asked = (*(item.expr for item in select.items), *(() if select.having is None else (select.having,)))
    return not select.group_by and not select.is_distinct and not any(map(is_aggregated, asked))


def _clause_line(table: WindowTable, keys: tuple[Expr, ...]) -> str:
    # The layout is made of what this package reads: a module-level import would be a cycle.
    from windrow.sql.layout import render_window
    from windrow.sql.render import render_expr

    group = f" GROUP BY {', '.join(map(render_expr, keys))}" if keys else ""
    return f"FROM {quote_name(table.source.name)}{group} {render_window(table.window)}"


def with_group_window(cursor: Cursor, select: Select) -> Select:
    """A select whose GROUP BY holds a window function: the function becomes the WINDOW clause."""
    select = _named_window(select)
    calls = [expr for expr in select.group_by if isinstance(expr, Call) and expr.name.upper() in _GROUP_FUNCTIONS]
    window = _group_window(cursor, calls[0]) if len(calls) == 1 and select.window is None else None
    if window is None:
        _refuse_bound_arguments(cursor, select)
        return select
    call = calls[0]
    select = replace(select, window=window, group_by=tuple(expr for expr in select.group_by if expr is not call))
    select = _replaced(select, lambda node: _bound_of(node, call))
    select = replace(select, items=tuple(_whole_window(item, call) for item in select.items))
    _refuse_bound_arguments(cursor, select)
    return select


def _whole_window(item: SelectItem, call: Call) -> SelectItem:
    """The window itself, a column with its start and end, as Spark and Arroyo give it."""
    is_column = isinstance(item.expr, Column) and item.expr.qualifier is None and _is_sparks(item.expr.name, call)
    if item.expr != call and not is_column:
        return item
    span = item.expr.span
    bounds = (Literal("start"), Column("_window_start", span=span), Literal("end"), Column("_window_end", span=span))
    return replace(item, expr=Call("named_struct", bounds, span=span), alias=item.alias or call.name.lower())


_SPARKS = ("window", "session_window")
_GROUP_FUNCTIONS = (*TABLE_FUNCTIONS, *map(str.upper, _SPARKS))
_LAST_INSTANTS = frozenset(f"{kind}_ROWTIME" for kind in SPELLINGS)


def _is_sparks(name: str, call: Call) -> bool:
    """Whether a name is the column that Spark's function makes."""
    return name.lower() == call.name.lower() and name.lower() in _SPARKS


def _named_window(select: Select) -> Select:
    """``SELECT hop(...) AS w ... GROUP BY w`` or ``GROUP BY 1``: the key that names the item is the function itself."""

    def is_window(expr: Expr) -> bool:
        return isinstance(expr, Call) and expr.name.upper() in _GROUP_FUNCTIONS and bool(expr.args)

    def meant(key: Expr) -> Expr:
        for position, item in enumerate(select.items, 1):
            is_named = isinstance(key, Column) and key.qualifier is None and key.name.lower() == (item.alias or "").lower()
            if is_window(item.expr) and (is_named or key == Literal(position)):
                return item.expr
        return key

    return replace(select, group_by=tuple(map(meant, select.group_by)))


def _group_window(cursor: Cursor, call: Call) -> WindowClause | None:
    """The clause, or None where the arguments are not what the function takes: the checks say so."""
    lengths = [length for arg in call.args[1:] if (length := _length(arg)) is not None]
    has_time = bool(call.args) and isinstance(call.args[0], Column)
    if call.args and (first := _length(call.args[0])) is not None:
        # Arroyo's hop(slide, size): of the stream's own event time.
        lengths.insert(0, first)
    if not lengths or len(lengths) != len(call.args) - has_time:
        return None
    spelling = call.name.upper()
    if spelling == "SESSION_WINDOW":
        spelling = "SESSION"
    if spelling == "WINDOW":
        # Spark's window(time, size, slide).
        spelling = "TUMBLE" if len(lengths) == 1 else "SLIDING"
    word = Token(Kind.WORD, spelling, *_ends(call), key=spelling)
    time = call.args[0]
    return _build(cursor, word, time if isinstance(time, Column) else None, lengths)


def _ends(call: Call) -> tuple[int, int]:
    span = call.span or Span(0, 1)
    return span.start, span.end


def _length(arg: Expr) -> tuple[int, Span] | None:
    match arg:
        case Interval(micros=micros):
            return micros, arg.span or Span(0, 1)
        case Literal(value=str(text)):
            length = parse_length(text)
            return None if length is None else (length, arg.span or Span(0, 1))
        case _:
            return None


def _bound_of(node: Node, call: Call) -> str | None:
    """The bound that TUMBLE_START(ts, size) or window(ts, size).start is, of that very window."""
    match node:
        case Call(name=name, args=args) if name.upper() in WINDOW_BOUNDS and args == call.args:
            return WINDOW_BOUNDS[name.upper()]
        case Call(name=name, args=args) if name.upper() in _LAST_INSTANTS and args == call.args:
            return _LAST
        case Call(name=name, args=(Column(name=of, qualifier=None),)) if name.lower() == _LAST and _is_sparks(of, call):
            return _LAST
        case Field(base=Call() as base, name=name) if base.name.lower() == call.name.lower() and base.args == call.args:
            return _OF_WINDOW.get(name.lower())
        case Column(name=name, qualifier=str(qualifier)) if _is_sparks(qualifier, call):
            return _OF_WINDOW.get(name.lower())
        case _:
            return None


def _replaced(select: Select, bound: Callable[[Node], str | None]) -> Select:
    """The bounds of the window as system columns, in every clause; an item that is only one keeps its name."""

    def change(node: Node) -> Node | None:
        if isinstance(node, Select | Union):
            return node
        name = bound(node)
        if name == _LAST:
            # The last instant of a window is the event time of what it puts out.
            return Binary("-", Column("_window_end", span=node.span), Interval(1), span=node.span)
        return None if name is None else Column(name, span=node.span)

    def item(one: SelectItem) -> SelectItem:
        is_named = one.alias is not None or bound(one.expr) is None or not isinstance(one.expr, Column | Field)
        alias = one.alias if is_named else one.expr.name if isinstance(one.expr, Column | Field) else None
        return replace(one, expr=transform_expr(one.expr, change), alias=alias)

    return replace(
        select,
        items=tuple(map(item, select.items)),
        where=None if select.where is None else transform_expr(select.where, change),
        having=None if select.having is None else transform_expr(select.having, change),
        qualify=None if select.qualify is None else transform_expr(select.qualify, change),
        order_by=tuple(transform_expr(key, change) for key in select.order_by),
    )


def _refuse_bound_arguments(cursor: Cursor, select: Select) -> None:
    """A bound of a window that is not there: the functions take no arguments of their own."""
    for node in _nodes(select):
        if isinstance(node, Call) and node.name.upper() in WINDOW_BOUNDS:
            raise _bound_fault(cursor, node, select)


def _bound_fault(cursor: Cursor, call: Call, select: Select) -> SyntaxFaultError:
    first = call.args[0].span if call.args else call.span
    if select.window is None:
        kind = call.name.upper().rsplit("_", 1)[0]
        message = f"{call.name} needs its window: a WINDOW clause, or {kind}(...) in GROUP BY"
        from windrow.sql.render import render_expr

        return cursor.fault(codes.SYNTAX, message, call.span, f"write GROUP BY {kind}({', '.join(map(render_expr, call.args))})")
    return cursor.fault(codes.SYNTAX, f"{call.name} takes no arguments other than those of its window", first, f"write {call.name}()")


def _nodes(select: Select) -> Iterator[Node]:
    """Every expression node of a select, without those of its subqueries, which were read before."""
    keys = (key.expr for key in select.order_by)
    tops: tuple[Expr | None, ...] = (*(item.expr for item in select.items), select.where, select.having, select.qualify, *keys)
    for top in (*tops, *select.group_by):
        if top is not None:
            yield from walk(top)
