"""Which types go together, in comparisons and in arithmetic."""

from __future__ import annotations

from windrow.catalog.numeric import TIMES
from windrow.model.expr import Expr, Literal
from windrow.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    INTEGERS,
    INTERVAL,
    NULL,
    STRING,
    UNKNOWN,
    VARIANT,
    Array,
    DataType,
    Map,
    Struct,
    is_numeric,
)


def is_open(type_: DataType) -> bool:
    """A type that never is a reason to complain."""
    return type_ in (UNKNOWN, NULL, VARIANT)


def may_be_boolean(type_: DataType) -> bool:
    return type_ == BOOLEAN or is_open(type_)


def family(type_: DataType) -> str:
    match type_:
        case Array() | Map() | Struct():
            return "nested"
        case _ if is_open(type_):
            return "any"
        case _ if is_numeric(type_):
            return "number"
        case _ if type_ in TIMES:
            return "time"
        case _ if type_ in (STRING, BINARY):
            return "text"
        case _:
            return str(type_)


def are_comparable(left: Expr, left_type: DataType, right: Expr, right_type: DataType) -> bool:
    """Whether two values can be compared. Text goes with numbers and times only where it is a literal that reads as one.

    >>> from windrow.model.types import INT
    >>> are_comparable(Literal("7"), STRING, Literal(7), INT), are_comparable(Literal(True), BOOLEAN, Literal(7), INT)
    (True, False)
    """
    first, second = family(left_type), family(right_type)
    if "any" in (first, second) or first == second:
        return True
    if {first, second} == {"text", "time"}:
        return True
    if {first, second} == {"text", "number"}:
        return is_number_text(left) or is_number_text(right)
    if "text" in (first, second):
        # 'true' for a boolean, '5 minutes' for an interval: Spark reads the literal.
        return isinstance(left if first == "text" else right, Literal)
    return False


def is_number_text(node: Expr) -> bool:
    if not (isinstance(node, Literal) and isinstance(node.value, str)):
        return False
    try:
        float(node.value)
    except ValueError:
        return False
    return True


def can_calculate(op: str, left: Expr, left_type: DataType, right: Expr, right_type: DataType) -> bool:
    """Whether ``left op right`` is arithmetic that makes sense."""
    first, second = family(left_type), family(right_type)
    if "any" in (first, second):
        # NULL + 'a' is still no sum.
        return True
    if first == second == "number":
        return True
    if INTERVAL in (left_type, right_type):
        other = second if left_type == INTERVAL else first
        if op in ("+", "-"):
            return other in ("time", "text", str(INTERVAL))
        return op in ("*", "/") and other == "number"
    if op in ("+", "-") and left_type == DATE and right_type in INTEGERS:
        return True
    if op == "-" and first == "time":
        return second == "time" or (second == "text" and isinstance(right, Literal))
    return op == "-" and second == "time" and first == "text" and isinstance(left, Literal)
