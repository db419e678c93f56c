"""What an aggregate is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.lazy import LazyModule
from windrow.model.accumulation import Accumulation
from windrow.model.expr import Call
from windrow.model.types import DataType

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")

# Column names of an aggregate's parts, by part name.
Columns = Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """One column of an aggregate's partial state.

    ``sql`` may hold ``{0}``, ``{1}`` (arguments), ``{seq}`` (arrival order of the row), ``{batch}`` (number of the batch), ``{time}``
    (event time) and must hold ``{over}`` after each aggregate call, where a running total puts its OVER clause.
    Where ``row``, SQL of the part for one row alone, and ``run`` are there, such rows can be run up instead, if they are numbers.
    """

    name: str
    sql: str
    merge: Callable[[Columns], pl.Expr]
    row: str | None = None
    run: Accumulation | None = None

    @property
    def keeps_values(self) -> bool:
        """Whether it is a list of the values themselves, which then must have a type."""
        return self.sql.startswith(("collect_list({0})", "collect_set({0})"))


@dataclass(frozen=True)
class Signature:
    """What the catalog and the documentation say of an aggregate that Spark does not have. Its first argument is a number."""

    text: str
    doc: str
    # From the types of the arguments to the type of the value.
    returns: Callable[[Sequence[DataType]], DataType]
    # A call over the sample rows of docs/functions.md, and what it gives there, as text.
    example: tuple[str, str] | None = None
    counts: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function; ``finish`` is SQL text over part columns ``{name}`` and arguments ``{0}``."""

    parts: tuple[Part, ...]
    finish: str
    # Arguments that must be constants, handed to ``finish`` only (a percentile's fraction).
    constant_args: tuple[int, ...] = ()
    # A part that is a list of numbers: ``{total}`` in ``finish`` is their sum, in the type that SUM gives them.
    total_of: str | None = None
    # The part that holds the sum, or the values, of which the mean is taken: of decimals it has a type of its own.
    mean_of: str | None = None
    # Of the dialect's own aggregates.
    signature: Signature | None = None


# An aggregate whose form depends on how it is called: on the number of its arguments, or on ORDER BY. None: not in this way.
FormOfCall = Callable[[Call], Aggregate | None]


def orders_its_value(call: Call) -> bool:
    """Whether the value that is aggregated stands in ORDER BY, as in PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY v).

    Elsewhere ORDER BY says in what order the arguments are taken, and its keys come after them.
    """
    return bool(call.within_group) and call.name.upper() in ("PERCENTILE_CONT", "PERCENTILE_DISC", "MODE")


def let(name: str, value: str, body: str) -> str:
    """SQL in which a value is named once and used often."""
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"


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
    """NaN is greater than every number, as in Spark; what is no number has none."""
    return lambda columns: pl.col(columns[name]).nan_max()


def elements(column: str) -> pl.Expr:
    """All the elements of all the lists of a group."""
    return pl.col(column).explode(empty_as_null=False, keep_nulls=False)


def gathered(name: str) -> Callable[[Columns], pl.Expr]:
    return lambda columns: elements(columns[name]).alias(columns[name])


def gathered_set(name: str) -> Callable[[Columns], pl.Expr]:
    return lambda columns: elements(columns[name]).unique().alias(columns[name])


def least_elements(name: str, most: int) -> Callable[[Columns], pl.Expr]:
    """The least elements of all the lists, so many at most and each once."""
    return lambda columns: elements(columns[name]).unique().sort().head(most).alias(columns[name])


def first_by(value: str, *order: str, descending: bool = False) -> Callable[[Columns], pl.Expr]:
    """The value whose order columns come first (last, if descending) among partials that have any."""

    def merge(columns: Columns) -> pl.Expr:
        present = pl.col(columns[order[0]]).is_not_null()
        keys = [pl.col(columns[name]).filter(present) for name in order]
        ranked = pl.col(columns[value]).filter(present).sort_by(keys, descending=descending, maintain_order=True)
        return ranked.first().alias(columns[value])

    return merge
