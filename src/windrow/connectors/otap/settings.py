"""The options of an OTAP source as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from windrow.connectors.times import parse_duration, parse_time
from windrow.errors import UsageError
from windrow.otap.discovery import SpanTime, TimeRule
from windrow.otap.origins import ResourceIds
from windrow.otap.timing import Timing


@dataclass(frozen=True)
class Settings:
    """``start`` is earliest, latest or nanoseconds; ``now`` is None where the machine's clock counts."""

    path: str
    table: str
    timing: Timing
    rule: TimeRule
    ids: ResourceIds
    start: str | int
    windows_at_once: int
    now: int | None


def read_settings(options: Mapping[str, str]) -> Settings:
    timing = Timing(
        _nanos(options, "processing.delay"),
        _nanos(options, "max.clock.drift"),
        _nanos(options, "max.file.duration"),
        _nanos(options, "window.granularity"),
    )
    fault = timing.fault()
    if fault is not None:
        hint = "'processing.delay' = '10m', 'max.clock.drift' = '1m', 'max.file.duration' = '1m', 'window.granularity' = '1m'"
        raise UsageError("WR881", fault, hint)
    start = options["start.time"].strip().lower()
    at_once = int(options["max.concurrent.windows"])
    if at_once < 1:
        raise UsageError("WR881", f"'max.concurrent.windows' = '{at_once}': at least one window is taken", "'max.concurrent.windows' = '1'")
    return Settings(
        options["path"],
        options["table"].lower(),
        timing,
        TimeRule(cast(SpanTime, options["span.time"].lower()), options["time.fallback"].lower() == "observed"),
        cast(ResourceIds, options["resource.ids"].lower()),
        start if start in ("earliest", "latest") else _time_nanos(options, "start.time"),
        at_once,
        _time_nanos(options, "now") if "now" in options else None,
    )


def _nanos(options: Mapping[str, str], key: str) -> int:
    try:
        return parse_duration(options[key]) * 1000
    except ValueError as error:
        raise UsageError("WR881", f"'{key}' = '{options[key]}' is {error}", f"'{key}' = '1m'") from None


def _time_nanos(options: Mapping[str, str], key: str) -> int:
    try:
        return parse_time(options[key]) * 1000
    except ValueError as error:
        raise UsageError("WR881", f"'{key}' = '{options[key]}' is {error}", f"'{key}' = '2026-01-01T00:00:00Z'") from None
