"""Units of time, and the arithmetic from a written number to microseconds."""

from __future__ import annotations

from fractions import Fraction

from windrow.model.window import DAY, HOUR, MILLI, MINUTE, SECOND, WEEK

_WORDS: dict[int, tuple[str, ...]] = {
    1: ("us", "microsecond", "microseconds"),
    MILLI: ("ms", "millisecond", "milliseconds"),
    SECOND: ("s", "sec", "secs", "second", "seconds"),
    MINUTE: ("m", "min", "mins", "minute", "minutes"),
    HOUR: ("h", "hr", "hrs", "hour", "hours"),
    DAY: ("d", "day", "days"),
    WEEK: ("w", "week", "weeks"),
}

UNITS: dict[str, int] = {word: micros for micros, words in _WORDS.items() for word in words}
"""Every accepted unit word, in lower case, with its length in microseconds."""

MONTH_UNITS: dict[str, int] = {"month": 1, "months": 1, "year": 12, "years": 12}
"""Units that are not a fixed length of time, in months."""

LONGEST = 2**63 - 1
_MAX_TEXT = 60


def micros_of(number: str, unit: str) -> int | None:
    """The length of ``number`` units, or None if it is no whole number of microseconds or beyond 64 bits.

    >>> micros_of("1.5", "h")
    5400000000
    """
    if len(number) > _MAX_TEXT or "e" in number.lower():
        return None
    length = Fraction(number) * UNITS[unit.lower()]
    if length.denominator != 1 or abs(length) > LONGEST:
        return None
    return int(length)


def show_duration(micros: int) -> str:
    """The shortest exact spelling of a length of time.

    >>> show_duration(90_000_000)
    '90s'
    """
    for unit, length in (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLI)):
        if micros and micros % length == 0:
            return f"{micros // length}{unit}"
    return f"{micros}us" if micros else "0s"
