"""How times and lengths of time are spelled, in every command alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def show_time(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(" ", timespec="milliseconds").removesuffix("+00:00").removesuffix(".000")


def show_micros(micros: int) -> str:
    """
    >>> show_micros(1_500_000), show_micros(2**62)
    ('1970-01-01 00:00:01.500', 'the end of time')
    """
    try:
        return show_time(_EPOCH + timedelta(microseconds=micros))
    except OverflowError:
        return "the end of time" if micros > 0 else "the beginning of time"


def show_seconds(seconds: float) -> str:
    """A length of time in its two greatest units.

    >>> show_seconds(3.25), show_seconds(93_784)
    ('3.2 s', '1d 2h')
    """
    left = int(seconds)
    parts: list[str] = []
    for length, unit in _UNITS:
        number, left = divmod(left, length)
        if number or parts:
            parts.append(f"{number}{unit}")
    return " ".join([*parts, f"{left}s"][:2]) if parts else f"{seconds:.1f} s"
