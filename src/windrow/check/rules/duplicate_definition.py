"""WR201: a name that is taken."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic


def duplicate_definition(context: Context) -> Iterator[Diagnostic]:
    for name, statement in context.catalog.duplicates:
        yield Diagnostic("WR201", f'"{name}" is defined twice', statement.span, f'give one of them another name, for example "{name}_2"')
