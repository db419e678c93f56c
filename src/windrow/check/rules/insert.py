"""WR254: INSERT INTO puts rows into columns by position."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.relation import Relation
from windrow.catalog.typing import output_columns
from windrow.check.agreement import family
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.statement import Explain, InsertInto
from windrow.model.system import system_column


def insert(context: Context) -> Iterator[Diagnostic]:
    for statement in context.script.statements:
        inner = statement.statement if isinstance(statement, Explain) else statement
        if isinstance(inner, InsertInto):
            target = context.catalog.relation(inner.name)
            if target is not None and target.is_known:
                yield from _judge(context, inner, target)


def _judge(context: Context, statement: InsertInto, target: Relation) -> Iterator[Diagnostic]:
    columns = output_columns(statement.query, context.catalog)
    if columns is None:
        return
    given = [column for column in columns if system_column(column.name) is None]
    span = statement.query.span or statement.span
    if len(given) != len(target.columns):
        hint = f"{target.name} has: {', '.join(column.name for column in target.columns)}"
        yield Diagnostic("WR254", f"{target.name} has {len(target.columns)} columns, the query gives {len(given)}", span, hint)
        return
    for column, wanted in zip(given, target.columns, strict=True):
        families = {family(column.type), family(wanted.type)}
        if len(families) > 1 and "any" not in families:
            message = f'"{wanted.name}" of {target.name} is {wanted.type}, the query gives {column.type}'
            yield Diagnostic("WR254", message, span, f"convert it: CAST({column.name} AS {wanted.type})")
