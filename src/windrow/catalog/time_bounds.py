"""How far apart in time the rows of a join may be, read from its conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from windrow.model.expr import Between, Binary, Column, Expr, Interval, IsDistinct

SideName = Literal["left", "right"]
# Which side a column that holds a time belongs to; None for any other column.
SideOf = Callable[[Column], SideName | None]

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True)
class TimeBound:
    """``low <= right - left <= high`` in microseconds; ``said_by`` are the conditions that say just this."""

    left: Column
    right: Column
    low: int
    high: int
    said_by: tuple[Expr, ...]


@dataclass(frozen=True)
class _Claim:
    """``right - left op micros``."""

    left: Column
    right: Column
    op: str
    micros: int


def conjuncts(expr: Expr | None) -> Iterator[Expr]:
    """The conditions that all must hold.

    >>> list(conjuncts(Binary("AND", Column("a"), Binary("AND", Column("b"), Column("c"))))) == [Column("a"), Column("b"), Column("c")]
    True
    """
    if isinstance(expr, Binary) and expr.op == "AND":
        yield from conjuncts(expr.left)
        yield from conjuncts(expr.right)
    elif expr is not None:
        yield expr


@dataclass(frozen=True)
class Equality:
    """``left = right``; with ``nulls_meet``, NULL is equal to NULL: ``IS NOT DISTINCT FROM``, ``<=>``."""

    left: Expr
    right: Expr
    nulls_meet: bool


def equality_of(condition: Expr) -> Equality | None:
    """What a condition says is equal; None where it says something else.

    >>> equality_of(IsDistinct(Column("a"), Column("b"), negated=True)).nulls_meet
    True
    """
    match condition:
        case Binary(op="=", left=left, right=right):
            return Equality(left, right, nulls_meet=False)
        case Binary(op="<=>", left=left, right=right) | IsDistinct(left=left, right=right, negated=True):
            return Equality(left, right, nulls_meet=True)
        case _:
            return None


def find_bound(conditions: Iterable[Expr], side_of: SideOf) -> TimeBound | None:
    """The bound that the conditions put on one pair of times, from below and from above; None where they do not."""
    return next(iter(find_bounds(conditions, side_of)), None)


def find_bounds(conditions: Iterable[Expr], side_of: SideOf) -> list[TimeBound]:
    """Every bound of a pair of times, in the order in which the pairs are named."""
    lows: dict[tuple[Column, Column], list[int]] = {}
    highs: dict[tuple[Column, Column], list[int]] = {}
    said: dict[tuple[Column, Column], list[Expr]] = {}
    for condition in conditions:
        for claim in _claims(condition, side_of):
            pair = (claim.left, claim.right)
            # Times are whole microseconds, so "less than" is "at most one less".
            if claim.op in (">", ">=", "="):
                lows.setdefault(pair, []).append(claim.micros + (claim.op == ">"))
            if claim.op in ("<", "<=", "="):
                highs.setdefault(pair, []).append(claim.micros - (claim.op == "<"))
            said.setdefault(pair, []).append(condition)
    return [
        TimeBound(*pair, max(lows[pair]), min(highs[pair]), tuple(dict.fromkeys(claims)))
        for pair, claims in said.items()
        if pair in lows and pair in highs
    ]


def _claims(condition: Expr, side_of: SideOf) -> list[_Claim]:
    """What a condition says about the distance of two times; nothing where it says more than that."""
    match condition:
        case Between(operand=operand, low=low, high=high, negated=False):
            found = [_claim(operand, ">=", low, side_of), _claim(operand, "<=", high, side_of)]
        case Binary(op=op, left=left, right=right) if op in _MIRRORED:
            found = [_claim(left, op, right, side_of)]
        case _:
            return []
    known = [claim for claim in found if claim is not None]
    return known if len(known) == len(found) else []


def _claim(one: Expr, op: str, other: Expr, side_of: SideOf) -> _Claim | None:
    if isinstance(other, Interval) and isinstance(one, Binary) and one.op == "-":
        # b.t - a.t <= INTERVAL '10' SECOND
        return _between(_moved(one.left), _moved(one.right), op, other.micros, side_of)
    if isinstance(one, Interval):
        return _claim(other, _MIRRORED[op], one, side_of)
    return _between(_moved(one), _moved(other), op, 0, side_of)


def _between(one: tuple[Column, int] | None, other: tuple[Column, int] | None, op: str, micros: int, side_of: SideOf) -> _Claim | None:
    """``one - other op micros``, put as a claim about right - left."""
    if one is None or other is None:
        return None
    (a, a_offset), (b, b_offset) = one, other
    distance = micros + b_offset - a_offset
    sides = side_of(a), side_of(b)
    if sides == ("right", "left"):
        return _Claim(b, a, op, distance)
    if sides == ("left", "right"):
        return _Claim(a, b, _MIRRORED[op], -distance)
    return None


def _moved(expr: Expr) -> tuple[Column, int] | None:
    """A column and how far it is moved in time: ``t``, ``t + INTERVAL ..``, ``INTERVAL .. + t``, ``t - INTERVAL ..``."""
    match expr:
        case Column():
            return expr, 0
        case Binary(op="+", left=base, right=Interval(micros=micros)) | Binary(op="+", left=Interval(micros=micros), right=base):
            found = _moved(base)
            return None if found is None else (found[0], found[1] + micros)
        case Binary(op="-", left=base, right=Interval(micros=micros)):
            found = _moved(base)
            return None if found is None else (found[0], found[1] - micros)
        case _:
            return None
