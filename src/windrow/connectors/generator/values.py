"""Which texts a type can hold, decided without Spark."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal as Number
from decimal import InvalidOperation

from windrow.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    DataType,
    Decimal,
    Map,
)

_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}


def integer_bounds(type_: DataType) -> tuple[int, int]:
    """The least and greatest value of an integer type; 64 bits for everything else.

    >>> integer_bounds(TINYINT)
    (-128, 127)
    """
    bits = next((bits for known, bits in _BITS.items() if known == type_), 64)
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def holds(type_: DataType, text: str) -> bool:
    """Whether a text is a value of a type.

    >>> holds(INT, "12"), holds(INT, "1.5"), holds(BOOLEAN, "yes")
    (True, False, False)
    """
    if type_ == BOOLEAN:
        return text.lower() in ("true", "false")
    if type_ in INTEGERS:
        low, high = integer_bounds(type_)
        number = _number(text)
        return number is not None and number == number.to_integral_value() and low <= number <= high
    if type_ in (FLOAT, DOUBLE):
        return _number(text) is not None
    if isinstance(type_, Decimal):
        number = _number(text)
        return number is not None and abs(number) < Number(10) ** (type_.precision - type_.scale)
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ, DATE):
        return _is_time(text, date if type_ == DATE else datetime)
    if isinstance(type_, Array | Map):
        return _is_json(text, list if isinstance(type_, Array) else dict)
    return True


def _number(text: str) -> Number | None:
    try:
        number = Number(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_time(text: str, kind: type[date] | type[datetime]) -> bool:
    try:
        kind.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


def _is_json(text: str, kind: type[list[object]] | type[dict[str, object]]) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except ValueError:
        return False
