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
    | {"ANTI", "SEMI"}
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

AGGREGATE_NAMES = frozenset(
    (
        "any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate "
        "approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg "
        "bool_and bool_or collect_list collect_set collect_union corr count count_distinct count_if count_min_sketch "
        "covar_pop covar_samp delta earliest earliest_by_offset every first first_value grouping "
        "grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double "
        "kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value "
        "latest latest_by_offset listagg max max_by mean measure median min min_by mode percentile percentile_approx "
        "percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx "
        "regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum "
        "theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double "
        "tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double "
        "tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum"
    ).split()
)
"""Spark's aggregates, where the grammar must tell them from other functions; a test compares them with the catalog."""

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
