"""WR204, WR210: DROP ends what there is, of the kind it names, and nothing that is still in use."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.check.suggestions import relation_hint
from windrow.errors import Diagnostic
from windrow.model.statement import CreateTable, CreateTableAs


def drop(context: Context) -> Iterator[Diagnostic]:
    for fault in context.lifetimes.faults:
        name, span = fault.drop.name, fault.drop.span
        if fault.definition is None:
            relation = context.catalog.relation(name)
            if relation is None:
                message = f'unknown stream or table "{name}"'
                yield Diagnostic("WR210", message, span, relation_hint(context.catalog, name))
            else:
                message = f"{name} cannot be dropped: no statement before this one creates it"
                yield Diagnostic("WR204", message, span, "put DROP after the CREATE, or remove it")
        elif fault.users:
            message = f"{name} cannot be dropped: it is used by {', '.join(fault.users)}"
            yield Diagnostic("WR204", message, span, f"drop or remove first what uses it: {fault.users[0]}")
        else:
            kind = "TABLE" if isinstance(fault.definition, CreateTable | CreateTableAs) else "STREAM"
            yield Diagnostic("WR204", f"{name} is a {kind.lower()}", span, f"DROP {kind} {name}")
