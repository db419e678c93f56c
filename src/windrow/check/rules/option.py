"""WR260, WR261, WR262: keys that are known, values that are understood, and required ones that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo, available_timezones

from windrow.catalog.names import closest
from windrow.catalog.options import LEAST_ROWS
from windrow.check.blocks import Context
from windrow.check.foreign_options import ForeignOption, foreign_option, meant_connector, said_connector, whole_list
from windrow.check.option_lists import OptionList, option_lists
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.errors import Diagnostic
from windrow.model.options import Option
from windrow.sql import parse_duration
from windrow.sql.row_limits import parse_row_limit

_OFFSET = re.compile(r"[+-](0\d|1[0-8]):[0-5]\d")


def option(context: Context) -> Iterator[Diagnostic]:
    for listed in option_lists(context):
        said = said_connector(listed.entries)
        unknown = [entry for entry in listed.entries if listed.spec(entry.key) is None and entry.key.lower() not in said]
        whole = whole_list(listed.entries, is_sink=not listed.is_source) if unknown and listed.is_complete and not said else None
        if whole is not None:
            keys = ", ".join(f'"{entry.key}"' for entry in unknown)
            message = f"unknown option{'s' if len(unknown) > 1 else ''} {keys} for {listed.owner}, which names no connector"
            yield Diagnostic("WR260", message, unknown[0].span, f"write {whole}")
        for entry in listed.entries:
            spec = listed.spec(entry.key)
            if spec is not None:
                yield from _judge_value(entry, spec)
            elif listed.is_complete and whole is None and entry in unknown:
                yield Diagnostic("WR260", f'unknown option "{entry.key}" for {listed.owner}', entry.span, _unknown_hint(entry, listed))
        if whole is None:
            yield from _missing(listed)


def _unknown_hint(entry: Option, listed: OptionList) -> str:
    key = entry.key
    known = [spec.key for spec in listed.specs]
    foreign = _foreign(entry, listed)
    if foreign is not None and foreign.key and listed.find("connector") is not None and listed.spec(foreign.key) is None:
        return f"leave it out: it is for what {'a job writes' if listed.is_source else 'comes in'}"
    if foreign is not None:
        return foreign.hint(entry, {other.key.lower() for other in listed.entries})
    similar = closest(key, known)
    if similar:
        return f"did you mean '{similar[0]}'? {_example(listed, similar[0])}"
    owners = [spec.name for spec in CONNECTORS.values() if key.lower() in {own.key for own in (*(spec.source or ()), *(spec.sink or ()))}]
    if owners:
        connector = listed.find("connector")
        if connector is not None:
            return f"leave it out: it belongs to {', '.join(owners)}, and this is {connector.value}"
        return f"it belongs to: {', '.join(owners)}; name the connector: 'connector' = '{owners[0]}'"
    return f"known options: {', '.join(known)}"


def _foreign(entry: Option, listed: OptionList) -> ForeignOption | None:
    connector = listed.find("connector")
    return foreign_option(entry, None if connector is None else connector.value.lower())


def _example(listed: OptionList, key: str) -> str:
    spec = listed.spec(key)
    return "" if spec is None else f"'{key}' = '{spec.example}'"


def _missing(listed: OptionList) -> Iterator[Diagnostic]:
    if not listed.is_complete:
        return
    # What another system's option says is not missing: the hint about that option says how to write it.
    said = {foreign.key for entry in listed.entries if (foreign := _foreign(entry, listed)) is not None}
    for spec in listed.specs:
        keys = [key for key in (spec.key, spec.alternative) if key is not None]
        if spec.is_required and all(listed.find(key) is None and key not in said for key in keys):
            message = f'{listed.owner} needs the option "{spec.key}": {spec.doc}'
            example = (meant_connector(listed.entries) if spec.key == "connector" else None) or spec.example
            yield Diagnostic("WR262", message, listed.span, f"add WITH ('{spec.key}' = '{example}')")


def _judge_value(entry: Option, spec: OptionSpec) -> Iterator[Diagnostic]:
    if is_understood(entry.value, spec):
        return
    wanted = f"one of: {', '.join(spec.choices)}" if spec.choices else f"a {spec.kind.value}"
    if spec.key == "time.zone":
        wanted = "the name of a time zone"
    shown = "(hidden)" if spec.is_secret else f"'{entry.value}'"
    hint = f"'{spec.key}' = '{nearest_value(entry.value, spec)}'"
    yield Diagnostic("WR261", f'"{spec.key}" cannot be {shown}: it needs {wanted}', entry.value_span or entry.span, hint)


def nearest_value(value: str, spec: OptionSpec) -> str:
    """The value that may have been meant, or one that makes sense."""
    known = available_timezones() if spec.key == "time.zone" else spec.choices
    return next(iter(closest(value, sorted(known))), spec.example)


def is_understood(value: str, spec: OptionSpec) -> bool:
    """Whether a value is one that an option can have."""
    if spec.key == "time.zone":
        return _is_zone(value)
    if spec.choices:
        return value.lower() in spec.choices or spec.kind is not OptionKind.CHOICE
    match spec.kind:
        case OptionKind.INTEGER if spec.key == LEAST_ROWS:
            return value.strip().isdecimal() and int(value) > 0
        case OptionKind.INTEGER:
            return value.strip().lstrip("+-").isdecimal()
        case OptionKind.NUMBER:
            return _is_number(value)
        case OptionKind.BOOLEAN:
            return value.lower() in ("true", "false")
        case OptionKind.DURATION:
            length = parse_duration(value)
            return length is not None and length >= 0
        case OptionKind.TIME:
            return _is_time(value)
        case OptionKind.ROW_LIMIT:
            return parse_row_limit(value) is not None
        case OptionKind.PATH:
            return bool(value.strip())
        case OptionKind.TEXT | OptionKind.CHOICE:
            return True


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_zone(value: str) -> bool:
    if _OFFSET.fullmatch(value):
        return True
    try:
        ZoneInfo(value)
    except (ValueError, OSError, KeyError):
        return False
    return bool(value)
