"""Values that Python decoded from a format of their own, as JSON text: one decoder then judges the fields of every format."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from datetime import time as clock_time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column


class Literal(str):
    """A number as it was written, every digit of it."""

    __slots__ = ()


def spell(value: Any) -> str:
    """A decoded value as JSON, with exact numbers, times in ISO 8601 and bytes in base64.

    >>> spell({"a": Decimal("1.10"), "b": [None, True, b"x"], "c": float("nan"), "d": Literal("1e3")})
    '{"a":1.10,"b":[null,true,"eA=="],"c":"NaN","d":1e3}'
    """
    match value:
        case None | bool():
            return json.dumps(value)
        case Literal():
            return str(value)
        case int() | Decimal():
            return format(value, "f") if isinstance(value, Decimal) else str(value)
        case float():
            return repr(value) if math.isfinite(value) else '"NaN"' if math.isnan(value) else f'"{"-" * (value < 0)}Infinity"'
        case dict():
            return "{" + ",".join(f"{json.dumps(str(name))}:{spell(each)}" for name, each in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(spell, value)) + "]"
        case bytes():
            return json.dumps(base64.b64encode(value).decode())
        case datetime():
            return json.dumps(value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat())
        case date() | clock_time():
            return json.dumps(value.isoformat())
        case _:
            return json.dumps(str(value))


def decoded_column(value: Column, reader: Callable[[], Callable[[bytes], str | None]]) -> Column:
    """JSON text of a column of bytes, made by the Python of the executors. ``reader`` gives what reads one value there."""
    from pyspark.sql.pandas.functions import arrow_udf

    def decode(values: pa.Array) -> pa.Array:
        read = reader()
        return pa.array([None if one is None else read(one) for one in values.to_pylist()], pa.string())

    # Which kind of function it is, pyspark reads off the annotations, and these are text here.
    decode.__annotations__ = {"values": pa.Array, "return": pa.Array}
    as_udf: Any = arrow_udf
    made: Column = as_udf(decode, "string")(value)
    return made
