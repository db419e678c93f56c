"""Durations and times as options of the command line write them, in nanoseconds."""

from __future__ import annotations

from windrow.cli import codes
from windrow.errors import UsageError


def option_duration(option: str, text: str) -> int:
    from windrow.sql import parse_duration

    micros = parse_duration(text)
    if micros is None:
        raise UsageError(codes.BAD_VALUE, f"{option} {text} is not a duration", f"{option} 1m")
    return micros * 1000


def option_time(option: str, text: str) -> int:
    from windrow.connectors.times import parse_time

    try:
        return parse_time(text) * 1000
    except ValueError:
        raise UsageError(codes.BAD_VALUE, f"{option} {text} is not a time", f"{option} 2026-01-01T00:00:00Z") from None


def show_nanos(nanos: int) -> str:
    """
    >>> show_nanos(1_000_000_000)
    '1970-01-01T00:00:01Z'
    """
    from datetime import UTC, datetime

    return datetime.fromtimestamp(nanos // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
