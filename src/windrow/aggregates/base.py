"""What an aggregate is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

# Column names of an aggregate's parts, by part name.
Columns = Mapping[str, str]


@dataclass(frozen=True)
class AggregateCall:
    """One call with its arguments as Spark SQL text; FILTER is folded into the arguments already (they are NULL where it fails)."""

    name: str
    args: tuple[str, ...]
    is_distinct: bool = False
    is_descending: bool = False


@dataclass(frozen=True)
class Part:
    """One column of an aggregate's partial state.

    ``sql`` may hold ``{0}``, ``{1}`` (arguments), ``{seq}`` (arrival order of the row), ``{batch}`` (number of the batch) and must
    hold ``{over}`` after each aggregate call, where a running total puts its OVER clause.
    """

    name: str
    sql: str
    merge: Callable[[Columns], pl.Expr]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function; ``finish`` is SQL text over part columns ``{name}`` and arguments ``{0}``."""

    parts: tuple[Part, ...]
    finish: str
    # Arguments that must be constants, handed to ``finish`` only (a percentile's fraction).
    constant_args: tuple[int, ...] = ()


def total(name: str) -> Callable[[Columns], pl.Expr]:
    """Sum that is NULL, not 0, where every partial is NULL."""

    def merge(columns: Columns) -> pl.Expr:
        column = pl.col(columns[name])
        return pl.when(column.is_not_null().any()).then(column.sum()).otherwise(None).alias(columns[name])

    return merge


def count(name: str) -> Callable[[Columns], pl.Expr]:
    return lambda columns: pl.col(columns[name]).sum()


def least(name: str) -> Callable[[Columns], pl.Expr]:
    return lambda columns: pl.col(columns[name]).min()


def greatest(name: str) -> Callable[[Columns], pl.Expr]:
    return lambda columns: pl.col(columns[name]).max()


def gathered(name: str) -> Callable[[Columns], pl.Expr]:
    """All the elements of all the lists."""
    return lambda columns: pl.col(columns[name]).explode(empty_as_null=False, keep_nulls=False).alias(columns[name])


def gathered_set(name: str) -> Callable[[Columns], pl.Expr]:
    return lambda columns: pl.col(columns[name]).explode(empty_as_null=False, keep_nulls=False).unique().alias(columns[name])


def first_by(value: str, *order: str, descending: bool = False) -> Callable[[Columns], pl.Expr]:
    """The value whose order columns come first (last, if descending) among partials that have any."""

    def merge(columns: Columns) -> pl.Expr:
        present = pl.col(columns[order[0]]).is_not_null()
        keys = [pl.col(columns[name]).filter(present) for name in order]
        ranked = pl.col(columns[value]).filter(present).sort_by(keys, descending=descending, maintain_order=True)
        return ranked.first().alias(columns[value])

    return merge
