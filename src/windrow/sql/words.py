"""Which words mean something by themselves, and which word a misspelled one was meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

RESERVED = frozenset(
    {"ALL", "AND", "AS", "BETWEEN", "CASE", "CROSS", "DISTINCT", "ELSE", "END", "FALSE", "FROM", "GROUP", "HAVING", "ILIKE", "IN", "INNER"}
    | {
        "IS",
        "JOIN",
        "LIKE",
        "NOT",
        "NULL",
        "ON",
        "OR",
        "ORDER",
        "RLIKE",
        "SELECT",
        "THEN",
        "TRUE",
        "UNION",
        "USING",
        "WHEN",
        "WHERE",
        "WITH",
    }
)
"""Words that are never a column, stream or function unless quoted."""

ALIAS_AFTER_AS = frozenset({"ALL", "CROSS", "END", "GROUP", "INNER", "ORDER"})
"""Reserved words that may still follow AS, where nothing else can be meant."""

CLAUSES = ("FROM", "WHERE", "GROUP BY", "WINDOW", "HAVING", "QUALIFY", "ORDER BY", "LIMIT", "EMIT", "WITH", "JOIN", "UNION", "LATERAL VIEW")
WINDOW_CLAUSES = ("ON EVENT_TIME", "WITH WATERMARK", "TRIGGER", "ALLOWED_LATENESS", "LATE_DATA_STRATEGY", "OFFSET")
JOIN_WORDS = ("LEFT", "RIGHT", "FULL", "INNER", "CROSS", "ASOF", "WITHIN", "USING", "ON")
STATEMENTS = ("SELECT", "WITH", "CREATE", "INSERT", "EXPLAIN", "SHOW", "DESCRIBE", "DROP")

NOT_AN_ALIAS = RESERVED | frozenset(
    {
        "ALLOWED_LATENESS",
        "ASOF",
        "EMIT",
        "EXCEPT",
        "FOR",
        "FULL",
        "INTERSECT",
        "LATERAL",
        "LATE_DATA_STRATEGY",
        "LEFT",
        "LIMIT",
        "MATCH_CONDITION",
        "MINUS",
    }
    | {"NATURAL", "OFFSET", "QUALIFY", "RIGHT", "TRIGGER", "WINDOW", "WITHIN"}
)
"""Words that never name an alias unless AS or quotes say so."""

STARTS_CLAUSE = frozenset({("PRIMARY", "KEY"), ("FETCH", "FIRST"), ("FETCH", "NEXT"), ("PARTITION", "BY"), ("MATCH_RECOGNIZE", "(")})
"""Pairs of words of which the first never names an alias."""

BARE_CALLS = frozenset({"CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP", "CURRENT_USER", "CURRENT_TIMEZONE"})
"""Functions that are called without parentheses."""

RESERVED_CALLS = frozenset({"LIKE", "ILIKE", "RLIKE"})
"""Reserved words that are functions too where an operand stands and a parenthesis follows."""

UNIT_CALLS = {
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF"), 3),
    **dict.fromkeys(("DATE_TRUNC", "DATE_PART", "DATEPART"), 2),
}
"""Calls whose first argument is a unit of time, by how many arguments they then have."""

UNITS = tuple("YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND".split())
UNIT_SPELLINGS = {f"{before}{unit}{after}": unit for unit in UNITS for before, after in (("", ""), ("", "S"), ("SQL_TSI_", ""))}

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Written bare, these would be read back as the start of something else.
_QUOTED_TOO = RESERVED | BARE_CALLS | {"ARRAY", "INTERVAL"}


def quote_name(name: str) -> str:
    """An identifier as it must be written: in backticks only when needed.

    >>> quote_name("price"), quote_name("order"), quote_name("odd name")
    ('price', '`order`', '`odd name`')
    """
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _QUOTED_TOO:
        return name
    return "`" + name.replace("`", "``") + "`"


def quote_string(text: str) -> str:
    """A string literal: quotes are doubled, a backslash is an ordinary character.

    >>> quote_string("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def nearest(word: str, choices: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The choice a misspelled word most likely meant; of a choice of several words, the first counts.

    >>> nearest("GROPU", CLAUSES)
    'GROUP BY'
    """
    by_first = {choice.split()[0]: choice for choice in choices}
    found = get_close_matches(word.upper()[:40], by_first, n=1, cutoff=cutoff)
    return by_first[found[0]] if found else None
