"""The generator's options as typed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from windrow.connectors.times import parse_duration, parse_time
from windrow.errors import UsageError
from windrow.model.window import MILLI, SECOND


@dataclass(frozen=True)
class Settings:
    """Times and lengths are microseconds. ``rows_per_second`` is None for as fast as possible."""

    rows_per_second: Fraction | None
    rows: int | None
    rows_per_batch: int
    seed: int
    partitions: int
    start: int
    interval: Fraction
    disorder: int
    late_share: float
    late_by: int
    future_share: float
    future_by: int
    bad_share: float


def read_settings(options: Mapping[str, str]) -> Settings:
    """The options as typed values; the first wrong one is a UsageError."""
    findings = check_settings(options)
    if findings:
        key, message = findings[0]
        raise UsageError("WR531", f"'{key}' = '{options[key]}': {message}")
    return _settings(options)


def check_settings(options: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every wrong value, as (key, what is wrong with it)."""
    findings = []
    for key, reader in _READERS.items():
        if key in options:
            try:
                reader(options[key])
            except ValueError as error:
                findings.append((key, str(error)))
    return findings


def _settings(options: Mapping[str, str]) -> Settings:
    def take(key: str, default: str) -> str:
        return options.get(key, default)

    rate = _rate(take("rows.per.second", "10"))
    interval = Fraction(parse_duration(options["event.interval"])) if "event.interval" in options else None
    if interval is None:
        interval = Fraction(MILLI) if rate is None else Fraction(SECOND) / rate
    return Settings(
        rows_per_second=rate,
        rows=_count(options["rows"], 0) if "rows" in options else None,
        rows_per_batch=_count(take("rows.per.batch", "500000"), 1),
        seed=_whole(take("seed", "0")),
        partitions=_count(take("partitions", "1"), 1),
        start=parse_time(take("start.time", "2026-01-01T00:00:00Z")),
        interval=interval,
        disorder=parse_duration(take("disorder", "0s")),
        late_share=_share(take("late.share", "0")),
        late_by=parse_duration(take("late.by", "1h")),
        future_share=_share(take("future.share", "0")),
        future_by=parse_duration(take("future.by", "2d")),
        bad_share=_share(take("bad.share", "0")),
    )


def _rate(text: str) -> Fraction | None:
    """
    >>> _rate("0.5"), _rate("max")
    (Fraction(1, 2), None)
    """
    if text.strip().lower() == "max":
        return None
    try:
        rate = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise ValueError("not a number of rows a second, nor max") from None
    if rate < 0:
        raise ValueError("cannot be less than 0")
    # Event time steps by 1/rate, and i/rate is computed in 64 bits.
    if rate.denominator > 1_000_000:
        raise ValueError("has too many digits")
    return rate or None


def _whole(text: str) -> int:
    try:
        number = int(text.strip())
    except ValueError:
        raise ValueError("not a whole number") from None
    if abs(number) >= 2**63:
        raise ValueError("does not fit in 64 bits")
    return number


def _count(text: str, least: int) -> int:
    number = _whole(text)
    if number < least:
        raise ValueError(f"cannot be less than {least}")
    return number


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        raise ValueError("not a share: write a number from 0 to 1") from None
    if not 0 <= share <= 1:
        raise ValueError("not a share: it must be from 0 to 1")
    return share


_READERS: dict[str, Callable[[str], object]] = {
    "rows.per.second": _rate,
    "rows": lambda text: _count(text, 0),
    "rows.per.batch": lambda text: _count(text, 1),
    "seed": _whole,
    "partitions": lambda text: _count(text, 1),
    "start.time": parse_time,
    "event.interval": parse_duration,
    "disorder": parse_duration,
    "late.share": _share,
    "late.by": parse_duration,
    "future.share": _share,
    "future.by": parse_duration,
    "bad.share": _share,
}
