"""The time zone of a file: whichever WITH names it, it holds for everything that the file reads, computes and shows."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.model.expr import walk
from windrow.model.options import Option
from windrow.model.statement import Script
from windrow.model.zone import UTC, zone_named


def zones_of(script: Script) -> Iterator[Option]:
    """Every option that names one, in the order of the file."""
    for statement in script.statements:
        yield from (node for node in walk(statement) if isinstance(node, Option) and node.key.lower() == "time.zone")


def time_zone_of(script: Script) -> str:
    return next((zone_named(option.value) for option in zones_of(script)), UTC)
