"""Aggregates that look at the order of rows: first and last by arrival, by time or by another value, and lists in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.aggregates.base import Aggregate, Columns, FormOfCall, Part, elements, first_by, gathered, greatest, least
from windrow.aggregates.distinct import COLLECT_SET
from windrow.lazy import LazyModule
from windrow.model.expr import Call, SortKey

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")

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


_FIRST = _by_arrival("min_by", "min", is_last=False)
_LAST = _by_arrival("max_by", "max", is_last=True)


def _by_value(by: str, *, is_greatest: bool, is_last: bool) -> Aggregate:
    """The value of the row where ``by`` is least or greatest; among several, of the first or last that arrived."""
    pick, edge = ("max_by", "max") if is_greatest else ("min_by", "min")
    # Where the greatest is wanted and the first of them, later rows count as less.
    sign = "-" if is_greatest != is_last else ""
    is_there = f"{{0}} IS NOT NULL AND {by} IS NOT NULL"
    fields = {"t": by, "b": f"{sign}{{batch}}", "s": f"{sign}{{seq}}"}
    # Every field can be NULL, since Arrow takes no other inside a struct that is NULL.
    struct = f"struct({', '.join(f'CASE WHEN {is_there} THEN {sql} END AS {name}' for name, sql in fields.items())})"
    order = f"CASE WHEN {is_there} THEN {struct} END"

    def ranked(columns: Columns, name: str) -> pl.Expr:
        whole = pl.col(columns["o"])
        present = whole.struct.field("t").is_not_null()
        keys = [whole.struct.field(field).filter(present) for field in fields]
        return pl.col(columns[name]).filter(present).sort_by(keys, descending=is_greatest).first().alias(columns[name])

    return Aggregate(
        (
            Part("v", f"{pick}({{0}}, {order}){{over}}", lambda columns: ranked(columns, "v")),
            Part("o", f"{edge}({order}){{over}}", lambda columns: ranked(columns, "o")),
        ),
        "{v}",
    )


EARLIEST = _by_value("{time}", is_greatest=False, is_last=False)
LATEST = _by_value("{time}", is_greatest=True, is_last=True)


def first(call: Call) -> Aggregate | None:
    """FIRST(x) by arrival, FIRST(x ORDER BY y) by a value."""
    match call.within_group:
        case ():
            return _FIRST
        case (key,):
            return _by_value(f"{{{len(call.args)}}}", is_greatest=key.descending, is_last=False)
        case _:
            return None


def last(call: Call) -> Aggregate | None:
    match call.within_group:
        case ():
            return _LAST
        case (key,):
            return _by_value(f"{{{len(call.args)}}}", is_greatest=not key.descending, is_last=True)
        case _:
            return None


_MIN_BY = Aggregate(
    (Part("v", "min_by({0}, {1}){over}", first_by("v", "by")), Part("by", "min({1}){over}", least("by"))),
    "{v}",
)
_MAX_BY = Aggregate(
    (Part("v", "max_by({0}, {1}){over}", first_by("v", "by", descending=True)), Part("by", "max({1}){over}", greatest("by"))),
    "{v}",
)


def min_by(call: Call) -> Aggregate | None:
    """A third argument would ask for several values."""
    return _MIN_BY if len(call.args) == 2 else None


def max_by(call: Call) -> Aggregate | None:
    return _MAX_BY if len(call.args) == 2 else None


def _once(call: Call) -> Callable[[Columns], pl.Expr]:
    """Of equal values the one that comes first: by ORDER BY, then by arrival. So it is however the rows were cut into batches."""
    keys = call.within_group
    descending = [*(key.descending for key in keys), False, False]
    nulls_last = [not _nulls_first(key) for key in keys] + [False, False]

    def merge(columns: Columns) -> pl.Expr:
        whole = elements(columns["l"])
        order = [whole.struct.field(name) for name in (*(f"k{i}" for i in range(len(keys))), "b", "s")]
        ranked = whole.sort_by(order, descending=descending, nulls_last=nulls_last)
        return ranked.filter(ranked.struct.field("v").is_first_distinct()).alias(columns["l"])

    return merge


def _nulls_first(key: SortKey) -> bool:
    return not key.descending if key.nulls_first is None else key.nulls_first


def _sorted_list(call: Call, merge: Callable[[Columns], pl.Expr]) -> tuple[Part, str]:
    """A list of values with what they are sorted by, and SQL for the values in order: ORDER BY, then arrival.

    Elements carry (batch, place) and the keys of ORDER BY, and are sorted once, when the value is shown.
    """
    keys = [f", {{{len(call.args) + i}}} AS k{i}" for i in range(len(call.within_group))]
    element = f"CASE WHEN {{0}} IS NOT NULL THEN struct({{batch}} AS b, {{seq}} AS s, {{0}} AS v{''.join(keys)}) END"
    order = f", (x, y) -> {_comparison(call.within_group)}" if keys else ""
    return Part("l", f"collect_list({element}){{over}}", merge), f"transform(array_sort({{l}}{order}), e -> e.v)"


def _comparison(keys: tuple[SortKey, ...]) -> str:
    """SQL that says which of x and y comes first: by each key in turn, and by arrival where they are equal."""
    text = "CASE WHEN x.b < y.b OR (x.b = y.b AND x.s < y.s) THEN -1 WHEN x.b = y.b AND x.s = y.s THEN 0 ELSE 1 END"
    for i, key in reversed(list(enumerate(keys))):
        null, less = (-1 if _nulls_first(key) else 1), (1 if key.descending else -1)
        text = (
            f"CASE WHEN x.k{i} <=> y.k{i} THEN {text} WHEN x.k{i} IS NULL THEN {null} WHEN y.k{i} IS NULL THEN {-null} "
            f"WHEN x.k{i} < y.k{i} THEN {less} ELSE {-less} END"
        )
    return text


def array_agg(call: Call) -> Aggregate:
    part, values = _sorted_list(call, gathered("l"))
    return Aggregate((part,), values)


def array_agg_distinct(call: Call) -> Aggregate:
    """Each value once: in the order that is asked for, else sorted."""
    if not call.within_group:
        return COLLECT_SET
    part, values = _sorted_list(call, _once(call))
    return Aggregate((part,), f"array_distinct({values})")


def _joined(*, is_distinct: bool) -> FormOfCall:
    def form(call: Call) -> Aggregate:
        part, values = _sorted_list(call, _once(call) if is_distinct else gathered("l"))
        # What one task gave alone was never merged.
        values = f"array_distinct({values})" if is_distinct else values
        between = "{1}" if len(call.args) > 1 else "''"
        texts = f"transform({values}, e -> CAST(e AS STRING))"
        return Aggregate((part,), f"CASE WHEN size({{l}}) > 0 THEN array_join({texts}, {between}) END", (1,) if len(call.args) > 1 else ())

    return form


string_agg = _joined(is_distinct=False)
string_agg_distinct = _joined(is_distinct=True)


# Whole rows of a window, which nobody can call by name: all of them with where they stand in the input, and the one that arrived last.
ROWS_OF_WINDOW = Aggregate((Part("l", "collect_list(struct({batch} AS b, {seq} AS s, {0} AS v)){over}", gathered("l")),), "{l}")
ROW_OF_WINDOW = _LAST


def _any_of(columns: Columns) -> pl.Expr:
    return pl.col(columns["v"]).drop_nulls().first().alias(columns["v"])


ANY_VALUE = Aggregate((Part("v", "any_value({0}, true){over}", _any_of),), "{v}")
