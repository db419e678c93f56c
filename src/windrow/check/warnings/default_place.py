"""WR283: a system outside whose place is not named is looked for where nobody may have meant it."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.check.option_lists import option_lists
from windrow.errors import Diagnostic, Severity


def default_place(context: Context) -> Iterator[Diagnostic]:
    for listed in option_lists(context):
        missing = [spec for spec in listed.specs if spec.left_out and not (listed.find(spec.key) or listed.find(spec.alternative or ""))]
        if missing:
            keys = " and ".join(f"'{spec.key}'" for spec in missing)
            taken = " and ".join(spec.left_out for spec in missing)
            connector = listed.find("connector")
            span = listed.span if connector is None else connector.value_span or connector.span
            hint = f"add {', '.join(spec.shown for spec in missing)}"
            yield Diagnostic("WR283", f"{listed.owner} does not say {keys}: it means {taken}", span, hint, Severity.WARNING)
