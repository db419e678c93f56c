"""WR287: a pattern of a time whose letters have the wrong case: it is read, and means something else."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic, Severity
from windrow.model.expr import Call, Literal
from windrow.sql.time_patterns import misspelt
from windrow.sql.words import quote_string

_PATTERNED = frozenset({"date_format", "to_timestamp", "try_to_timestamp", "to_date", "from_unixtime", "unix_timestamp"})


def time_pattern(context: Context) -> Iterator[Diagnostic]:
    for node, _, _, _ in context.nodes():
        match node:
            case Call(name=name, args=(_, Literal(value=str(pattern)) as written)) if name.lower() in _PATTERNED:
                meant = misspelt(pattern)
                if meant is not None:
                    message = f"in {quote_string(pattern)}, mm are minutes and DD is the day of the year"
                    yield Diagnostic("WR287", message, written.span, f"write {quote_string(meant)}", Severity.WARNING)
            case _:
                pass
