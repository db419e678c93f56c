"""Queries over tables that a stream is joined with: Spark runs each whole, and again when one of its tables has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from windrow.model.expr import Node, transform
from windrow.model.query import NamedSource
from windrow.plan.stages import TableRows
from windrow.spark.compile.query_text import query_sql
from windrow.spark.query.runner import strictness

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_numbers = count()


class TableQueries:
    """``rows`` are kept with the tables that they were made of: a table that changes is another frame."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._known: dict[TableRows, tuple[list[DataFrame], DataFrame]] = {}

    def rows(self, query: TableRows, table: Callable[[str], DataFrame], *, is_strict: bool) -> DataFrame:
        """``table`` gives a table as it stands now."""
        read = [table(name) for name in query.tables]
        made_of, found = self._known.get(query, ([], None))
        if found is None or any(now is not then for now, then in zip(read, made_of, strict=True)):
            with _views(query.tables, read) as views, strictness(self._spark, is_strict):
                rows = self._spark.sql(query_sql(transform(query.query, lambda node: _viewed(node, views)))).toDF(*query.columns)
                found = self._spark.createDataFrame(rows.toArrow()).coalesce(1)
            self._known[query] = read, found
        return found


@contextmanager
def _views(names: tuple[str, ...], frames: list[DataFrame]) -> Iterator[dict[str, str]]:
    """Global temporary views of tables: what a query over tables reads."""
    views = {name: f"windrow_query_{next(_numbers)}" for name in names}
    for name, frame in zip(names, frames, strict=True):
        frame.createOrReplaceGlobalTempView(views[name])
    try:
        yield views
    finally:
        for view, frame in zip(views.values(), frames, strict=True):
            frame.sparkSession.catalog.dropGlobalTempView(view)


def _viewed(node: Node, views: dict[str, str]) -> Node | None:
    return NamedSource(views[node.name], node.alias) if isinstance(node, NamedSource) else None
