"""WR214 outside queries: PRIMARY KEY, event.time.field and USING name columns too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windrow.check.blocks import Block, Context
from windrow.check.suggestions import column_hint
from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.model.statement import CreateStream, CreateTable
from windrow.model.system import system_column
from windrow.model.types import ColumnDef


def unknown_definition_column(context: Context) -> Iterator[Diagnostic]:
    for statement in context.script.statements:
        if isinstance(statement, CreateTable):
            for key in statement.primary_key:
                yield from _judge(key, "PRIMARY KEY", statement.span, statement.name, statement.columns)
        if isinstance(statement, CreateStream | CreateTable):
            option = statement.options.find("event.time.field")
            if option is not None:
                # A dotted field reaches into a struct: its first part is the column.
                name = option.value.split(".")[0]
                yield from _judge(name, "event.time.field", option.value_span or option.span, statement.name, statement.columns)
    for block in context.blocks:
        yield from _using(block)


def _judge(name: str, place: str, span: Span | None, owner: str, columns: Sequence[ColumnDef]) -> Iterator[Diagnostic]:
    names = [column.name for column in columns]
    # A stream without declared columns takes them from its rows.
    if names and name.lower() not in {known.lower() for known in names} and system_column(name) is None:
        yield Diagnostic("WR214", f'unknown column "{name}" in {place}', span, column_hint(name, [(owner, names)]))


def _using(block: Block) -> Iterator[Diagnostic]:
    bindings = block.scopes.rows.bindings
    for count, join in enumerate(block.select.joins):
        right = bindings[count + 1]
        lefts = bindings[: count + 1]
        for name in join.using:
            for side in [right] if right.column(name) is None and right.is_known else []:
                yield from _judge(name, "USING", join.span, side.name, side.columns)
            if all(left.column(name) is None and left.is_known for left in lefts):
                owner = ", ".join(left.name for left in lefts)
                yield from _judge(name, "USING", join.span, owner, [column for left in lefts for column in left.columns])
