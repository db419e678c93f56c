"""WR212, WR213, WR214, WR217: columns that a place does not have, in every clause."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.own_functions import BOUND_FUNCTIONS, is_bound
from windrow.catalog.scope import Ambiguous, Binding, Missing, MissingQualifier, OutOfPlace, Scope, member_type
from windrow.catalog.typing import infer
from windrow.check.blocks import Block, Context, Place
from windrow.check.foreign_names import ARRIVAL_TIMES, COLUMNS, is_foreign_function
from windrow.check.suggestions import column_hint, is_double_quoted
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Column, Field, Node, Over, walk
from windrow.model.system import Origin, SystemColumn, system_column
from windrow.model.types import Struct
from windrow.sql.words import UNIT_SPELLINGS, quote_string

# What takes the place of a column with the time of arrival in these clauses.
_ARRIVAL_CLAUSES = {
    "WINDOW": "write ON PROCESSING_TIME() behind the window, and no column: WINDOW TUMBLING(size) ON PROCESSING_TIME()",
    "FOR SYSTEM_TIME AS OF": "leave FOR SYSTEM_TIME AS OF out: a table is joined as it is when a row comes",
}


def unknown_column(context: Context) -> Iterator[Diagnostic]:
    for block in context.judged:
        for place in block.places:
            yield from _judge_place(place, block, context)


def _judge_place(place: Place, block: Block, context: Context) -> Iterator[Diagnostic]:
    # TIMESTAMP_DIFF(a, b, MINUTE), window(ts, "5 minutes"): the rule about functions says what to write for all of it.
    told = {id(arg) for node, _ in place.nodes if isinstance(node, Call) and is_foreign_function(node.name) for arg in node.args}
    text = context.script.source.text
    for node, scope in place.nodes:
        if id(node) in told and isinstance(node, Column) and (node.name.upper() in UNIT_SPELLINGS or is_double_quoted(node, text)):
            continue
        if node is place.expr and place.clause == "GROUP BY" and block.select.window is not None and is_bound(node):
            continue
        if isinstance(node, Call):
            yield from _judge_bound_function(node, scope, place, block)
        elif isinstance(node, Column):
            yield from _judge_column(node, scope, place, block, context)
        elif isinstance(node, Field):
            yield from _judge_field(node, scope, place)


def _judge_column(column: Column, scope: Scope, place: Place, block: Block, context: Context) -> Iterator[Diagnostic]:
    match scope.resolve(column):
        case Missing(binding=binding, fields=fields):
            shown = column.name if column.qualifier is None else f"{column.qualifier}.{column.name}"
            if (foreign := _foreign_hint(column, place, block, context)) is not None:
                hint = foreign
            elif fields is not None:
                hint = column_hint(column.name, [(column.qualifier or "it", fields)])
            else:
                hint = _missing_hint(column, binding, scope, place, block)
            yield Diagnostic("WR214", f'unknown column "{shown}" in {place.clause}', column.span, hint)
        case MissingQualifier(qualifier=qualifier):
            known = [name.name for name in scope.bindings if name.name]
            hint = f"FROM has: {', '.join(known)}" if known else f"write {column.name} alone"
            yield Diagnostic("WR212", f'unknown name "{qualifier}" before "{column.name}" in {place.clause}', column.span, hint)
        case Ambiguous(bindings=bindings):
            choices = " or ".join(f"{binding.name}.{column.name}" for binding in bindings)
            yield Diagnostic("WR213", f'ambiguous column "{column.name}" in {place.clause}', column.span, f"write {choices}")
        case OutOfPlace(column=system):
            yield _out_of_place(system, column, scope, place, block)


def _foreign_hint(column: Column, place: Place, block: Block, context: Context) -> str | None:
    """A text in double quotes, a unit of time without quotes, or a column that another system gives every row."""
    name = column.name.lower()
    if name in ARRIVAL_TIMES and place.clause in _ARRIVAL_CLAUSES:
        return _ARRIVAL_CLAUSES[place.clause]
    if column.qualifier is not None:
        return f"write {column.qualifier}.{COLUMNS[name]}" if name in COLUMNS and COLUMNS[name].startswith("_") else None
    if is_double_quoted(column, context.script.source.text):
        return f"a text has single quotes: {quote_string(column.name)}; double quotes are for names"
    if name in COLUMNS:
        has_none = COLUMNS[name].startswith("_window") and block.select.window is None
        return f"write {COLUMNS[name]}" + (", and a window: WINDOW TUMBLING(size)" if has_none else "")
    unit = UNIT_SPELLINGS.get(column.name.upper())
    return None if unit is None else f"a unit of time is a text, and stands first: DATE_TRUNC('{unit}', ts)"


def _missing_hint(column: Column, binding: Binding | None, scope: Scope, place: Place, block: Block) -> str:
    aliases = {item.alias.lower(): item for item in block.select.items if item.alias is not None}
    if column.qualifier is None and column.name.lower() in aliases:
        item = aliases[column.name.lower()]
        if place.clause == "WHERE" and any(isinstance(node, Over) for node in walk(item.expr)):
            return f'"{column.name}" is computed after WHERE: write QUALIFY instead of WHERE for a condition about it'
        return f'"{column.name}" is an alias, which {place.clause} does not see yet: repeat its expression here'
    owners = [binding] if binding is not None else [owner for owner in _reachable(scope) if owner.is_known]
    named = [(owner.name or "the subquery", [known.name for known in owner.columns]) for owner in owners]
    return column_hint(column.name, named, [alias.name for alias in scope.aliases])


def _reachable(scope: Scope) -> list[Binding]:
    return [*scope.bindings, *(_reachable(scope.outer) if scope.outer is not None else [])]


def _out_of_place(system: SystemColumn, node: Node, scope: Scope, place: Place, block: Block) -> Diagnostic:
    if block.select.window is not None and system.origin is not Origin.ROW:
        where = "inside an aggregate" if scope.is_in_aggregate else f"in {place.clause}"
        message = f"{system.name} cannot stand {where}: rows have no window yet"
        return Diagnostic("WR217", message, node.span, f"use it in SELECT or HAVING: HAVING {system.name} ...")
    if system.origin is Origin.WINDOW:
        return Diagnostic("WR217", f"{system.name} without a WINDOW", node.span, "add a window: WINDOW TUMBLING(10s)")
    message = f"{system.name} without a WINDOW, GROUP BY or aggregate"
    return Diagnostic("WR217", message, node.span, "add a window: WINDOW TUMBLING(10s)")


def _judge_bound_function(call: Call, scope: Scope, place: Place, block: Block) -> Iterator[Diagnostic]:
    name = call.name.lower()
    if name not in BOUND_FUNCTIONS:
        return
    column = system_column(f"_window_{name.rsplit('_', 1)[1]}")
    if column is not None and isinstance(scope.resolve(Column(column.name)), OutOfPlace):
        yield _out_of_place(column, call, scope, place, block)


def _judge_field(field: Field, scope: Scope, place: Place) -> Iterator[Diagnostic]:
    base = infer(field.base, scope)
    if isinstance(base, Struct) and member_type(base, field.name) is None:
        names = [name for name, _ in base.fields]
        hint = column_hint(field.name, [("the struct", names)])
        yield Diagnostic("WR214", f'unknown field "{field.name}" in {place.clause}', field.span, hint)
