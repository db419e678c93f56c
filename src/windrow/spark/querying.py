"""One SELECT over a frame, collected into the driver as an Arrow table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_views = count()


ANSI = "spark.sql.ansi.enabled"


@contextmanager
def strictness(session: SparkSession, is_strict: bool) -> Iterator[None]:
    """Within this, expressions are compiled to stop the job on a division by zero or an impossible cast, if so wanted."""
    if not is_strict:
        yield
        return
    session.conf.set(ANSI, "true")
    try:
        yield
    finally:
        session.conf.set(ANSI, "false")


def query(frame: DataFrame, sql: Callable[[str], str], *, is_strict: bool = False) -> pa.Table:
    """Run ``sql(name)`` where ``name`` is a view of the frame. One text is analysed faster than a chain of calls.

    The view lives in the frame's own session: a micro-batch has one of its own.
    """
    session = frame.sparkSession
    name = f"windrow_{next(_views)}"
    frame.createOrReplaceTempView(name)
    try:
        with strictness(session, is_strict):
            return session.sql(sql(name)).toArrow()
    finally:
        session.catalog.dropTempView(name)
