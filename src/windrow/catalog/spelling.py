"""Types as Spark spells them in text, read back."""

from __future__ import annotations

import re
from functools import cache

from windrow.model.types import UNKNOWN, Array, Atomic, DataType, Decimal, Map

_ATOMS = frozenset("BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE STRING BINARY DATE TIMESTAMP TIMESTAMP_NTZ VARIANT VOID".split())


@cache
def read_type(text: str) -> DataType:
    """The type of a Spark spelling; UNKNOWN for what the data file of functions does not need.

    >>> str(read_type("ARRAY<MAP<STRING,INT>>"))
    'ARRAY<MAP<STRING,INT>>'
    """
    text = text.strip().upper()
    if text in _ATOMS:
        return Atomic(text)
    if text.startswith("INTERVAL"):
        return Atomic("INTERVAL")
    if found := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", text):
        return Decimal(int(found[1]), int(found[2]))
    if found := re.fullmatch(r"ARRAY<(.*)>", text):
        return Array(read_type(found[1]))
    if found := re.fullmatch(r"MAP<(\w+),\s*(.*)>", text):
        return Map(read_type(found[1]), read_type(found[2]))
    return UNKNOWN
