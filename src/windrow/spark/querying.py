"""One SELECT over a frame, collected into the driver as an Arrow table."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

_views = count()


def query(frame: DataFrame, sql: Callable[[str], str]) -> pa.Table:
    """Run ``sql(name)`` where ``name`` is a view of the frame. One text is analysed faster than a chain of calls.

    The view lives in the frame's own session: a micro-batch has one of its own.
    """
    session = frame.sparkSession
    name = f"windrow_{next(_views)}"
    frame.createOrReplaceTempView(name)
    try:
        return session.sql(sql(name)).toArrow()
    finally:
        session.catalog.dropTempView(name)
