"""WR201, WR227: functions of the user's own that can be called as declared."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import function
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.statement import CreateFunction


def python_function(context: Context) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for statement in context.script.statements:
        if not isinstance(statement, CreateFunction):
            continue
        if statement.name.lower() in seen:
            yield Diagnostic("WR201", f'"{statement.name}" is defined twice', statement.span, f"call one of them {statement.name}_2")
        seen.add(statement.name.lower())
        if function(statement.name) is not None:
            hint = f"give it another name, for example my_{statement.name.lower()}"
            yield Diagnostic("WR227", f"{statement.name} is the name of a function that is there already", statement.span, hint)
    for fault in context.catalog.function_faults:
        yield Diagnostic("WR227", fault.message, fault.statement.span, fault.hint)
