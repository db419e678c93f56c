"""How types combine: the common type of several, and the result of arithmetic, by Spark's rules."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.model.types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    Array,
    DataType,
    Decimal,
    is_numeric,
)

TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_MAX_PRECISION = 38
_DIGITS: dict[DataType, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
_RANK: dict[DataType, int] = {TINYINT: 0, SMALLINT: 1, INT: 2, BIGINT: 3, FLOAT: 4, DOUBLE: 5}


def common_type(types: Iterable[DataType]) -> DataType:
    """The type that holds values of all these types; UNKNOWN where they do not combine or one is not known.

    >>> str(common_type([INT, BIGINT, NULL]))
    'BIGINT'
    """
    result: DataType = NULL
    for type_ in types:
        result = _common_pair(result, type_)
    return result


def _common_pair(left: DataType, right: DataType) -> DataType:
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if left in TIMES and right in TIMES:
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    if isinstance(left, Array) and isinstance(right, Array):
        return Array(_common_pair(left.element, right.element))
    if {left, right} == {STRING, BINARY}:
        return BINARY
    if STRING in (left, right) and (left in TIMES or right in TIMES):
        return left if left in TIMES else right
    return UNKNOWN


def _common_number(left: DataType, right: DataType) -> DataType:
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        first, second = as_decimal(left), as_decimal(right)
        if first is None or second is None:
            return DOUBLE
        scale = max(first.scale, second.scale)
        return Decimal(min(_MAX_PRECISION, max(first.precision - first.scale, second.precision - second.scale) + scale), scale)
    if DOUBLE in (left, right) or (FLOAT in (left, right) and BIGINT in (left, right)):
        return DOUBLE
    return left if _RANK.get(left, 0) >= _RANK.get(right, 0) else right


def as_decimal(type_: DataType) -> Decimal | None:
    """The decimal type that holds a whole number or decimal type; None for binary fractions."""
    if isinstance(type_, Decimal):
        return type_
    return Decimal(_DIGITS[type_], 0) if type_ in INTEGERS else None


def arithmetic_type(op: str, left: DataType, right: DataType) -> DataType:
    """The type of ``left op right``; UNKNOWN where it is not known or makes no sense.

    >>> str(arithmetic_type("/", INT, INT)), str(arithmetic_type("-", TIMESTAMP, INTERVAL))
    ('DOUBLE', 'TIMESTAMP')
    """
    if UNKNOWN in (left, right):
        return UNKNOWN
    if left == NULL or right == NULL:
        known = right if left == NULL else left
        return known if op != "/" or not is_numeric(known) or isinstance(known, Decimal) else DOUBLE
    if is_numeric(left) and is_numeric(right):
        return _number_arithmetic(op, left, right)
    if op in "+-" and left in TIMES and right == INTERVAL:
        # A DATE moved by hours is a TIMESTAMP, one moved by days stays a DATE: which, only Spark knows.
        return UNKNOWN if left == DATE else left
    if op == "+" and left == INTERVAL and right in TIMES:
        return arithmetic_type(op, right, left)
    if op in "+-" and left == DATE and right in INTEGERS:
        return DATE
    if op == "-" and left in TIMES and right in TIMES:
        return INTERVAL
    return INTERVAL if INTERVAL in (left, right) else UNKNOWN


def _number_arithmetic(op: str, left: DataType, right: DataType) -> DataType:
    if op == "DIV":
        return BIGINT
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        first, second = as_decimal(left), as_decimal(right)
        return DOUBLE if first is None or second is None else _decimal_arithmetic(op, first, second)
    return DOUBLE if op == "/" else _common_number(left, right)


def _decimal_arithmetic(op: str, left: Decimal, right: Decimal) -> DataType:
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match op:
        case "+" | "-":
            scale = max(s1, s2)
            return _fitted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _fitted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return _fitted(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return _fitted(min(p1 - s1, p2 - s2) + scale, scale)
        case _:
            return UNKNOWN


def _fitted(precision: int, scale: int) -> Decimal:
    """Spark keeps at least six digits after the point when a result grows past 38 digits."""
    if precision <= _MAX_PRECISION:
        return Decimal(precision, scale)
    whole = precision - scale
    return Decimal(_MAX_PRECISION, max(_MAX_PRECISION - whole, min(scale, 6)))
