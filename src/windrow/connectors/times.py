"""Durations and times as the options of connectors write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from windrow.errors import UsageError
from windrow.model.window import DAY, HOUR, MILLI, MINUTE, SECOND, WEEK

_UNITS = {"us": 1, "ms": MILLI, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> int:
    """Microseconds of ``500ms``, ``1.5h`` or a bare number of seconds.

    >>> parse_duration("1.5s"), parse_duration("2")
    (1500000, 2000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    unit = match[2].lower() or "s" if match else ""
    if match is None or unit not in _UNITS:
        raise ValueError(f"not a duration: write 500ms, 30s, 5m, 1h or 2d instead of {text.strip()}")
    micros = Fraction(match[1]) * _UNITS[unit]
    if micros.denominator != 1:
        raise ValueError("not a whole number of microseconds")
    return int(micros)


def parse_time(text: str) -> int:
    """Microseconds since 1970 of an ISO 8601 time, UTC where it names no zone.

    >>> parse_time("1970-01-01T00:00:01Z")
    1000000
    """
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("not a time: write 2026-01-01T00:00:00Z") from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (at - _EPOCH) // timedelta(microseconds=1)


def duration_option(options: Mapping[str, str], key: str, default: str, code: str) -> int:
    """Microseconds of an option that was given, or of its default; ``code`` is that of the connector's bad options."""
    text = options.get(key, default)
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(code, f"'{key}' = '{text}': {error}", f"'{key}' = '{default}'") from None
