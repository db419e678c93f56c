"""Counts, sums, extremes and truth."""

from __future__ import annotations

from windrow.aggregates.base import Aggregate, Part, count, gathered_set, greatest, least, total

COUNT = Aggregate((Part("n", "count({0}){over}", count("n")),), "{n}")
COUNT_IF = Aggregate((Part("n", "count_if({0}){over}", count("n")),), "{n}")
SUM = Aggregate((Part("s", "sum({0}){over}", total("s")),), "{s}")
AVG = Aggregate((Part("s", "sum({0}){over}", total("s")), Part("n", "count({0}){over}", count("n"))), "{s} / {n}")
MIN = Aggregate((Part("m", "min({0}){over}", least("m")),), "{m}")
MAX = Aggregate((Part("m", "max({0}){over}", greatest("m")),), "{m}")
DELTA = Aggregate((Part("lo", "min({0}){over}", least("lo")), Part("hi", "max({0}){over}", greatest("hi"))), "{hi} - {lo}")
BOOL_AND = Aggregate((Part("b", "bool_and({0}){over}", least("b")),), "{b}")
BOOL_OR = Aggregate((Part("b", "bool_or({0}){over}", greatest("b")),), "{b}")

# Exact distinct forms keep the values themselves.
_SEEN = Part("v", "collect_set({0}){over}", gathered_set("v"))
COUNT_DISTINCT = Aggregate((_SEEN,), "CAST(size({v}) AS BIGINT)")
