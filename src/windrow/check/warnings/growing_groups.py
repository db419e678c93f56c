"""WR282: time goes on, so groups by a time become ever more; a window lets go of them."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.numeric import TIMES
from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer
from windrow.check.blocks import Block, Context
from windrow.check.rules.not_grouped import expand_key
from windrow.errors import Diagnostic, Severity
from windrow.model.expr import Binary, Call, Cast, Expr, Interval, Literal, Node, walk
from windrow.model.query import EmitFinal
from windrow.model.statement import CreateStreamAs, CreateTableAs
from windrow.model.types import DATE
from windrow.model.window import MILLI, SECOND
from windrow.sql import render_expr
from windrow.sql.durations import show_duration

_NO_LENGTH = ""
_SIZES = {
    "SECOND": "1s",
    "MINUTE": "1m",
    "HOUR": "1h",
    "DAY": "1d",
    "WEEK": "1w",
    **dict.fromkeys(("MONTH", "QUARTER", "YEAR"), _NO_LENGTH),
}
# The letters of a pattern, the shortest length of time first.
_FINEST = {"s": "SECOND", "m": "MINUTE", "H": "HOUR", "h": "HOUR", "d": "DAY", "D": "DAY", "M": "MONTH", "y": "YEAR"}
_EPOCH = {"unix_seconds": SECOND, "unix_timestamp": SECOND, "unix_millis": MILLI}
# Parts of a time that come again, such as the hour of a day, are few.
_RUNNING = frozenset({"date_trunc", "trunc", "time_bucket", "date_format", "to_date", "unix_seconds", "unix_millis", "unix_timestamp"})


def growing_groups(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        select = block.select
        if select.window is not None or isinstance(select.emit, EmitFinal) or block.is_over_tables or _has_end(block):
            continue
        for key in select.group_by:
            meant = expand_key(key, block)
            if meant is not None and _is_time(meant, block.scopes.rows):
                message = f"groups by {render_expr(meant)} are kept for ever, and time makes ever more of them: the state only grows"
                yield Diagnostic("WR282", message, key.span or select.span, _hint(meant), Severity.WARNING)
                break


def _has_end(block: Block) -> bool:
    """Whether groups without rows are let go of."""
    own = block.statement.options if isinstance(block.statement, CreateStreamAs | CreateTableAs) else None
    return block.select.options.get("state.ttl") is not None or (own is not None and own.get("state.ttl") is not None)


def _is_time(key: Expr, scope: Scope) -> bool:
    if infer(key, scope) in TIMES:
        return True
    calls = [node for node in walk(key) if isinstance(node, Call) and node.name.lower() in _RUNNING]
    return any(infer(arg, scope) in TIMES for call in calls for arg in call.args)


def _hint(key: Expr) -> str:
    size = next((found for node in walk(key) if (found := _size(node)) is not None), None)
    if size == _NO_LENGTH:
        return "add WITH ('state.ttl' = '1d'): months and years have no fixed length, so no window is as long"
    return f"write WINDOW TUMBLING({size or 'size'}) instead, with _window_start in SELECT; or WITH ('state.ttl' = '1d')"


def _size(node: Node) -> str | None:
    """The length of time that one value of a part of a key stands for, if that part says it."""
    match node:
        case Call(name=name, args=(Literal(value=str(unit)), _)) if name.lower() == "date_trunc":
            return _SIZES.get(unit.upper())
        case Call(name=name, args=(Interval(micros=micros), *_)) if name.lower() == "time_bucket":
            return show_duration(micros)
        case Cast(type=type_) if type_ == DATE:
            return _SIZES["DAY"]
        case Call(name=name, args=(_,)) if name.lower() in ("to_date", "date"):
            return _SIZES["DAY"]
        case Call(name=name, args=(_, Literal(value=str(pattern)))) if name.lower() == "date_format":
            return next((_SIZES[unit] for letter, unit in _FINEST.items() if letter in pattern), None)
        case Binary(op="/", left=Call(name=name), right=Literal(value=int(count))) if name.lower() in _EPOCH and count > 0:
            return show_duration(count * _EPOCH[name.lower()])
        case _:
            return None
