"""How bad a change or a difference is for who reads: nothing, other values, a wider type, or it breaks."""

from __future__ import annotations

from enum import IntEnum

from windrow.model.types import BIGINT, DOUBLE, FLOAT, INT, INTEGERS, UNKNOWN, Array, DataType, Decimal, Map, Struct

# Digits that every value of a type fits into.
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}


class Verdict(IntEnum):
    """From the best to the worst. What cannot be proved is BREAKS."""

    NONE = 0
    VALUES = 1
    WIDENS = 2
    BREAKS = 3

    @property
    def words(self) -> str:
        return ("none", "values change", "type widens", "breaks")[self]


def type_change(old: DataType, new: DataType) -> Verdict:
    """What it means for a reader of a column that its type changes. A type that is not known proves nothing.

    >>> type_change(INT, BIGINT).words, type_change(BIGINT, INT).words, type_change(INT, INT).words
    ('type widens', 'breaks', 'none')
    """
    if UNKNOWN in (old, new):
        return Verdict.NONE if old == new == UNKNOWN else Verdict.BREAKS
    if old == new:
        return Verdict.NONE
    return Verdict.WIDENS if _is_wider(old, new) else Verdict.BREAKS


def _is_wider(old: DataType, new: DataType) -> bool:
    """Whether every value of the old type is one of the new."""
    match old, new:
        case Array(one), Array(other):
            return one == other or _is_wider(one, other)
        case Map(key, one), Map(other_key, other):
            return key == other_key and _is_wider(one, other)
        case Struct(fields), Struct(more):
            known = dict(more)
            return all(name in known and (known[name] == kind or _is_wider(kind, known[name])) for name, kind in fields)
        case Decimal(precision, scale), Decimal(more, finer):
            return finer >= scale and more - finer >= precision - scale
        case _, Decimal(precision, scale) if old in INTEGERS:
            return precision - scale >= _DIGITS[str(old)]
        case _ if old in INTEGERS and new in INTEGERS:
            return INTEGERS.index(new) > INTEGERS.index(old)
        case _ if old in INTEGERS and new == DOUBLE:
            # Doubles hold whole numbers up to 2^53.
            return old not in (BIGINT,)
        case _:
            return (old, new) == (FLOAT, DOUBLE) or (old in INTEGERS[:2] and new == FLOAT)


__all__ = ["INT", "Verdict", "type_change"]
