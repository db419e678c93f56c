"""Patterns of times as other systems write them, in the letters of Spark's."""

from __future__ import annotations

import re

# The fields of a pattern of PostgreSQL, and those of Spark's.
_POSTGRES = {
    "YYYY": "yyyy", "YY": "yy", "MONTH": "MMMM", "Month": "MMMM", "MON": "MMM", "Mon": "MMM", "MM": "MM", "DDD": "DDD", "DD": "dd",
    "HH24": "HH", "HH12": "hh", "HH": "hh", "MI": "mm", "SS": "ss", "MS": "SSS", "US": "SSSSSS", "AM": "a", "PM": "a", "Day": "EEEE",
    "Dy": "EEE", "TZ": "VV", "OF": "xxx",
}  # fmt: skip
_FIELD = re.compile("|".join(sorted(map(re.escape, _POSTGRES), key=len, reverse=True)))
# No pattern of Spark's has these.
_ONLY_POSTGRES = re.compile("YYYY|HH24|HH12|MI")
# Letters behind a percent sign: those that MySQL and strftime share, and those that they do not.
_SHARED = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "I": "hh", "S": "ss", "f": "SSSSSS", "p": "a", "j": "DDD", "b": "MMM",
    "a": "EEE", "%": "%", "T": "HH:mm:ss", "F": "yyyy-MM-dd",
}  # fmt: skip
_MYSQL = {**_SHARED, "i": "mm", "s": "ss", "h": "hh", "k": "H", "c": "M", "e": "d", "M": "MMMM", "W": "EEEE", "r": "hh:mm:ss a"}
_STRFTIME = {**_SHARED, "M": "mm", "e": "d", "B": "MMMM", "A": "EEEE", "R": "HH:mm", "D": "MM/dd/yy", "z": "xx", "Z": "VV"}
_PERCENT = re.compile("%(.)")
# A month between a year and a day, or a day behind a month, in the wrong case.
_MINUTES_FOR_MONTH = re.compile(r"(y+\W?)mm(\W?dd)|(dd\W?)mm(\W?y+)")
_DAY_OF_YEAR = re.compile(r"(M\W?)DD(?!D)|(?<!D)DD(\W?M)")


def from_postgres(pattern: str) -> str | None:
    """A pattern of PostgreSQL, where it can be no other.

    >>> from_postgres("YYYY-MM-DD HH24:MI"), from_postgres("yyyy-MM-dd")
    ('yyyy-MM-dd HH:mm', None)
    """
    return _FIELD.sub(lambda match: _POSTGRES[match[0]], pattern) if _ONLY_POSTGRES.search(pattern) else None


def from_percents(pattern: str, *, is_mysql: bool) -> str | None:
    """A pattern of MySQL or of strftime; None where it has no percent signs, or a letter that Spark has nothing for.

    >>> from_percents("%Y-%m-%d %H:%i", is_mysql=True), from_percents("%H:%M", is_mysql=False), from_percents("%V", is_mysql=False)
    ('yyyy-MM-dd HH:mm', 'HH:mm', None)
    """
    letters = _MYSQL if is_mysql else _STRFTIME
    found = _PERCENT.findall(pattern)
    if not found or any(letter not in letters for letter in found):
        return None
    return _PERCENT.sub(lambda match: letters[match[1]], pattern)


def misspelt(pattern: str) -> str | None:
    """What a pattern of Spark's must mean whose case is wrong: ``mm`` are minutes, ``DD`` counts the days of the year.

    >>> misspelt("yyyy-mm-dd"), misspelt("yyyy-MM-DD"), misspelt("yyyy-MM-dd HH:mm")
    ('yyyy-MM-dd', 'yyyy-MM-dd', None)
    """

    def put(before: str | None, field: str, after: str | None) -> str:
        return f"{before or ''}{field}{after or ''}"

    meant = _MINUTES_FOR_MONTH.sub(lambda found: put(found[1] or found[3], "MM", found[2] or found[4]), pattern)
    meant = _DAY_OF_YEAR.sub(lambda found: put(found[1], "dd", found[2]), meant)
    return None if meant == pattern else meant
