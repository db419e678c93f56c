"""WR263, WR264: connectors that there are, on the side that they have."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.names import closest
from windrow.check.blocks import Context
from windrow.check.foreign_options import CONNECTOR_NAMES
from windrow.check.option_lists import OptionList, option_lists
from windrow.connectors.registry import CONNECTORS
from windrow.errors import Diagnostic


def option_side(context: Context) -> Iterator[Diagnostic]:
    for listed in option_lists(context):
        option = listed.find("connector")
        if option is None:
            continue
        span = option.value_span or option.span
        spec = CONNECTORS.get(option.value.lower())
        if spec is None:
            yield Diagnostic("WR263", f'unknown connector "{option.value}"', span, _hint(option.value, list(CONNECTORS)))
            continue
        if listed.is_source and not listed.is_table and spec.source is not None and not spec.is_streamable:
            able = [name for name, other in CONNECTORS.items() if other.source is not None and other.is_streamable]
            hint = f"write CREATE TABLE {listed.owner} to join it, or use one of: {', '.join(able)}"
            yield Diagnostic("WR264", f'the connector "{spec.name}" holds a table, which cannot be read as a stream', span, hint)
            continue
        for side, is_needed, is_there in _sides(listed, spec.source is not None, spec.sink is not None):
            if is_needed and not is_there:
                able = [name for name, other in CONNECTORS.items() if (other.source if side == "read" else other.sink) is not None]
                verb = "be read from" if side == "read" else "be written to"
                yield Diagnostic("WR264", f'the connector "{spec.name}" cannot {verb}', span, f"use one of: {', '.join(able)}")


def _sides(listed: OptionList, has_source: bool, has_sink: bool) -> tuple[tuple[str, bool, bool], ...]:
    return (("read", listed.is_source, has_source), ("write", listed.is_sink, has_sink))


def _hint(value: str, known: list[str]) -> str:
    ours = CONNECTOR_NAMES.get(value.lower())
    if ours is not None:
        return f"write 'connector' = '{ours}'"
    similar = closest(value, known)
    meant = f"did you mean '{similar[0]}'? " if similar else ""
    return f"{meant}there are: {', '.join(known)}"
