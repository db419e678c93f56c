"""WR266: a file has one time zone."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.zones import zones_of
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.zone import zone_named


def time_zone(context: Context) -> Iterator[Diagnostic]:
    named = list(zones_of(context.script))
    for option in named[1:]:
        first = named[0].value
        if zone_named(option.value) != zone_named(first):
            message = f"a file has one time zone, and it has been '{first}' before"
            yield Diagnostic("WR266", message, option.value_span or option.span, f"'time.zone' = '{first}'")
