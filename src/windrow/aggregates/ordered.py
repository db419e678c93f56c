"""Aggregates that look at the order of rows: first and last by arrival, by another value, and lists in arrival order."""

from __future__ import annotations

import polars as pl

from windrow.aggregates.base import Aggregate, Columns, Part, first_by, gathered, greatest, least

# NULLs are skipped, so a row without a value has no place in the order.
_PLACE = "CASE WHEN {0} IS NOT NULL THEN {seq} END"


def _by_arrival(pick: str, edge: str, *, is_last: bool) -> Aggregate:
    """Order is (batch, place in the batch). The batch is known only where a value is."""
    order = ("batch", "seq")
    return Aggregate(
        (
            Part("v", f"{pick}({{0}}, {_PLACE}){{over}}", first_by("v", *order, descending=is_last)),
            Part(
                "batch", f"{edge}(CASE WHEN {{0}} IS NOT NULL THEN {{batch}} END){{over}}", greatest("batch") if is_last else least("batch")
            ),
            Part("seq", f"{edge}({_PLACE}){{over}}", first_by("seq", *order, descending=is_last)),
        ),
        "{v}",
    )


FIRST = _by_arrival("min_by", "min", is_last=False)
LAST = _by_arrival("max_by", "max", is_last=True)

MIN_BY = Aggregate(
    (Part("v", "min_by({0}, {1}){over}", first_by("v", "by")), Part("by", "min({1}){over}", least("by"))),
    "{v}",
)
MAX_BY = Aggregate(
    (Part("v", "max_by({0}, {1}){over}", first_by("v", "by", descending=True)), Part("by", "max({1}){over}", greatest("by"))),
    "{v}",
)


def _in_arrival_order(finish: str, constant_args: tuple[int, ...] = ()) -> Aggregate:
    """Elements carry (batch, place), and are sorted once, when the value is shown."""
    element = "CASE WHEN {0} IS NOT NULL THEN struct({batch} AS b, {seq} AS s, {0} AS v) END"
    return Aggregate((Part("l", f"collect_list({element}){{over}}", gathered("l")),), finish, constant_args)


ARRAY_AGG = _in_arrival_order("transform(array_sort({l}), e -> e.v)")
STRING_AGG = _in_arrival_order(
    "CASE WHEN size({l}) > 0 THEN array_join(transform(array_sort({l}), e -> CAST(e.v AS STRING)), {1}) END", (1,)
)
STRING_AGG_BARE = _in_arrival_order("CASE WHEN size({l}) > 0 THEN array_join(transform(array_sort({l}), e -> CAST(e.v AS STRING)), '') END")


def _any_of(columns: Columns) -> pl.Expr:
    return pl.col(columns["v"]).drop_nulls().first().alias(columns["v"])


ANY_VALUE = Aggregate((Part("v", "any_value({0}, true){over}", _any_of),), "{v}")
