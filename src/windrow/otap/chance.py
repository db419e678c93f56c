"""Numbers that look random and depend on a seed and a row number only, whole columns at a time."""

from __future__ import annotations

import polars as pl

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = 2**64 - 1


def mixed(numbers: pl.Expr, salt: int) -> pl.Expr:
    """SplitMix64 of a column: the same number and salt give the same 64 bits, on every machine."""
    x = numbers.cast(pl.UInt64) * _u64(_GOLDEN) + _u64(mixed_number(salt))
    x = _folded(x, 30) * _u64(_FIRST)
    x = _folded(x, 27) * _u64(_SECOND)
    return _folded(x, 31)


def mixed_number(number: int) -> int:
    """The same for one number.

    >>> mixed_number(1) == mixed_number(1) != mixed_number(2)
    True
    """
    x = (number * _GOLDEN + _GOLDEN) & _MASK
    x = ((x ^ x >> 30) * _FIRST) & _MASK
    x = ((x ^ x >> 27) * _SECOND) & _MASK
    return x ^ x >> 31


def below(numbers: pl.Expr, salt: int, limit: int) -> pl.Expr:
    """Whole numbers from 0 to ``limit`` - 1."""
    return (mixed(numbers, salt) % _u64(limit)).cast(pl.Int64)


def happens(numbers: pl.Expr, salt: int, share: float) -> pl.Expr:
    """True for about that share of the rows."""
    return (mixed(numbers, salt) % _u64(1_000_000)) < _u64(round(share * 1_000_000))


def one_of(numbers: pl.Expr, salt: int, choices: list[str]) -> pl.Expr:
    place = below(numbers, salt, len(choices))
    return place.replace_strict(list(range(len(choices))), choices, return_dtype=pl.String)


def _folded(x: pl.Expr, bits: int) -> pl.Expr:
    return x ^ (x // _u64(2**bits))


def _u64(number: int) -> pl.Expr:
    return pl.lit(number, dtype=pl.UInt64)
