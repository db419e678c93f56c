"""WR254, WR245: INSERT INTO puts values into the columns of a stream that this file fills."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.inserting import explained, value_columns
from windrow.catalog.names import closest
from windrow.catalog.relation import Relation
from windrow.check.agreement import family
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTableAs, InsertInto
from windrow.model.types import ColumnDef

_FILLED = (CreateStream, CreateStreamAs, CreateTableAs)


def insert(context: Context) -> Iterator[Diagnostic]:
    for statement in map(explained, context.script.statements):
        if isinstance(statement, InsertInto):
            target = context.catalog.relation(statement.name)
            if target is not None and not isinstance(target.defined_by, _FILLED):
                yield _not_filled(statement, target)
            elif target is not None and target.is_known:
                yield from _judge(context, statement, target)


def _not_filled(statement: InsertInto, target: Relation) -> Diagnostic:
    what = "a table of reference data" if target.kind == "table" else "a stream that this file does not create"
    hint = f"CREATE STREAM {target.name}_out ({', '.join(f'{c.name} {c.type}' for c in target.columns)}) WITH ('connector' = '...')"
    return Diagnostic("WR245", f"{target.name} cannot be inserted into: it is {what}", statement.span, hint)


def _judge(context: Context, statement: InsertInto, target: Relation) -> Iterator[Diagnostic]:
    faults = list(_judge_list(statement, target))
    yield from faults
    given = value_columns(statement.query, context.catalog)
    if given is None or faults:
        return
    wanted = _wanted(statement, target)
    span = statement.query.span or statement.span
    if len(given) != len(wanted):
        of = "the list" if statement.columns else target.name
        hint = f"{of} has: {', '.join(column.name for column in wanted)}"
        yield Diagnostic("WR254", f"{of} has {_count(wanted)}, the query gives {len(given)}", span, hint)
        return
    for column, place in zip(given, wanted, strict=True):
        families = {family(column.type), family(place.type)}
        if len(families) > 1 and "any" not in families:
            message = f'"{place.name}" of {target.name} is {place.type}, the query gives {column.type}'
            yield Diagnostic("WR254", message, span, f"convert it: CAST({column.name} AS {place.type})")


def _judge_list(statement: InsertInto, target: Relation) -> Iterator[Diagnostic]:
    if not statement.columns:
        return
    known = [column.name for column in target.columns]
    seen: set[str] = set()
    for column in statement.columns:
        if target.column(column.name) is None:
            similar = closest(column.name, known)
            meant = f'did you mean "{similar[0]}"? ' if similar else ""
            hint = f"{meant}{target.name} has: {', '.join(known)}"
            yield Diagnostic("WR254", f'{target.name} has no column "{column.name}"', column.span, hint)
        elif column.name.lower() in seen:
            yield Diagnostic("WR254", f'"{column.name}" is listed twice', column.span, f'remove one "{column.name}"')
        seen.add(column.name.lower())
    left_out = [column.name for column in target.columns if not column.nullable and column.name.lower() not in seen]
    if left_out:
        message = f'"{left_out[0]}" of {target.name} is NOT NULL and not in the list'
        yield Diagnostic("WR254", message, statement.columns[0].span, f"add it: {', '.join(left_out)}")


def _wanted(statement: InsertInto, target: Relation) -> tuple[ColumnDef, ...]:
    if not statement.columns:
        return target.columns
    return tuple(column for name in statement.columns if (column := target.column(name.name)) is not None)


def _count(columns: tuple[ColumnDef, ...]) -> str:
    """
    >>> _count(())
    '0 columns'
    """
    return f"{len(columns)} column{'' if len(columns) == 1 else 's'}"
