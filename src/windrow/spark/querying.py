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


@contextmanager
def view_of(frame: DataFrame) -> Iterator[str]:
    """A name for the frame in SQL. The view lives in the frame's own session: a micro-batch has one of its own."""
    name = f"windrow_{next(_views)}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        frame.sparkSession.catalog.dropTempView(name)


def query(frame: DataFrame, sql: Callable[[str], str], *, is_strict: bool = False) -> pa.Table:
    """Run ``sql(name)`` where ``name`` is a view of the frame. One text is analysed faster than a chain of calls."""
    with view_of(frame) as name, strictness(frame.sparkSession, is_strict):
        return frame.sparkSession.sql(sql(name)).toArrow()
