"""What functions.jsonl calls: Arrow arrays in, an Arrow array out."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def twice(x: pa.Array) -> pa.Array:
    return pc.multiply(x, 2)


def label(name: pa.Array, value: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(name, value.cast(pa.string()), ":")


def first_day(at: pa.Array) -> list[object]:
    """A list will do as well."""
    return [None if each is None else each.as_py().date() for each in at]


def fails(x: pa.Array) -> pa.Array:
    raise ZeroDivisionError(f"no {x.type}")


def too_short(x: pa.Array) -> pa.Array:
    return x.slice(1)
