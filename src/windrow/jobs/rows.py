"""The rows that the statements of a job gave, kept in the driver for whoever asks from Python."""

from __future__ import annotations

import html
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.errors import UsageError
from windrow.spark.internals.sessions import has_stopped

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # not installed everywhere
    import polars as pl
    from pyspark.sql import DataFrame, SparkSession

NO_LIBRARY = "WR642"
NO_SESSION = "WR643"
_SHOWN = 20
# System columns that tell the emissions of a statement apart.
TOLD_APART_BY = ("_window_start", "_window_end", "_key", "_emission", "_revision")


class Rows:
    """Rows of one statement, as they were when they were asked for.

    ``dropped`` counts earlier ones that were given up because no more than so many are kept.
    """

    def __init__(self, name: str, table: pa.Table, dropped: int = 0, spark: SparkSession | None = None) -> None:
        self.name = name
        self.dropped = dropped
        self._table = table
        self._spark = spark

    @property
    def columns(self) -> list[str]:
        return list(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._table.to_pylist(maps_as_pydicts="lossy"))

    def head(self, rows: int = 10) -> Rows:
        """The oldest of them."""
        return Rows(self.name, self._table.slice(0, rows), self.dropped, self._spark)

    def tail(self, rows: int = 10) -> Rows:
        """The newest of them."""
        return Rows(self.name, self._table.slice(max(0, len(self) - rows)), self.dropped, self._spark)

    def to_arrow(self) -> pa.Table:
        return self._table

    def to_polars(self) -> pl.DataFrame:
        import polars as pl

        made = pl.from_arrow(self._table)
        assert isinstance(made, pl.DataFrame)
        return made

    def to_pandas(self) -> pd.DataFrame:
        try:
            import pandas as pd  # noqa: F401  # Arrow needs it
        except ModuleNotFoundError:
            raise UsageError(NO_LIBRARY, "pandas is not installed, so there can be no pandas frame", "pip install pandas") from None
        return self._table.to_pandas()

    def to_spark(self, spark: SparkSession | None = None) -> DataFrame:
        """A DataFrame of the session given, else of the one that the job ran in, else of the active one."""
        from pyspark.sql import SparkSession

        session = spark or _living(self._spark) or _living(SparkSession.getActiveSession())
        if session is None:
            raise UsageError(NO_SESSION, "there is no Spark session left to make a DataFrame in", "rows.to_spark(spark)")
        return session.createDataFrame(self._table)

    def __repr__(self) -> str:
        from windrow.connectors.console.tables import plain_table

        shown = self._table.slice(0, _SHOWN)
        return "\n".join([self._title(), *plain_table(shown), *self._rest()])

    def _repr_html_(self) -> str:
        from windrow.connectors.console.tables import shown_cells

        names, right, cells = shown_cells(self._table.slice(0, _SHOWN))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(_cell(cell, is_right) for cell, is_right in zip(row, right, strict=True))}</tr>" for row in cells)
        notes = "".join(f"<div>{html.escape(line)}</div>" for line in self._rest())
        return (
            f"<div><div><b>{html.escape(self._title())}</b></div>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
        )

    def _title(self) -> str:
        return f"{self.name} · {'1 row' if len(self) == 1 else f'{len(self):,} rows'}"

    def _rest(self) -> list[str]:
        more = len(self) - _SHOWN
        lines = [] if more <= 0 else [f"... and {more:,} more"]
        return [*lines, *([f"{self.dropped:,} earlier rows were not kept"] if self.dropped else [])]


def _cell(cell: str | None, is_right: bool) -> str:
    style = ' style="text-align: right"' if is_right else ""
    return f"<td{style}>{'<i>NULL</i>' if cell is None else html.escape(cell)}</td>"


def _living(session: SparkSession | None) -> SparkSession | None:
    """A session whose context was stopped answers no more."""
    return None if session is None or has_stopped(session) else session


class KeptRows:
    """The newest rows of each statement, by batch: one that runs twice is there once. Batches come from Spark's threads."""

    def __init__(self, most: int, *, is_whole: bool = False) -> None:
        """``is_whole``: with the system columns that tell rows apart."""
        self.most = most
        self.is_whole = is_whole
        self._lock = threading.Lock()
        self._batches: dict[str, dict[int, pa.Table]] = {}
        self._dropped: dict[str, int] = {}

    def take(self, statement: str, batch_id: int, table: pa.Table) -> None:
        with self._lock:
            batches = self._batches.setdefault(statement, {})
            batches[batch_id] = table
            left = sum(one.num_rows for one in batches.values())
            for oldest in sorted(batches):
                if left <= self.most:
                    return
                own = batches[oldest]
                # Whole batches go, and of the last one so much as is too much.
                gone = min(own.num_rows, left - self.most)
                left -= gone
                self._dropped[statement] = self._dropped.get(statement, 0) + gone
                batches[oldest] = own.slice(gone)
                if not batches[oldest].num_rows and oldest != batch_id:
                    del batches[oldest]

    def rows(self, statement: str, empty: pa.Table, spark: SparkSession | None, up_to: int | None = None) -> Rows:
        """``up_to`` is the last batch that is asked for."""
        with self._lock:
            batches = self._batches.get(statement, {})
            tables = [batches[number] for number in sorted(batches) if up_to is None or number <= up_to]
            dropped = self._dropped.get(statement, 0)
        table = pa.concat_tables(tables, promote_options="permissive") if tables else empty
        return Rows(statement, table, dropped, spark)
