"""Prints the rows of each batch, and says so where there are more than it prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console

from windrow.connectors.console.tables import Page, print_page
from windrow.connectors.encoding import flat_frame, json_frame, json_lines
from windrow.connectors.runtime import EMISSION, Connector, Output, Sink, SinkRequest
from windrow.connectors.zones import labelled, zone_of
from windrow.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_TABLE_ROWS = 20
# A frame cannot say "all rows" to a filter; no partition of a batch that anybody prints is longer.
_ALL = 2**33 - 1

_console = Console()


def console() -> Console:
    """Where rows are printed. A live status line must use this same console, or the two overwrite each other."""
    return _console


def use_console(replacement: Console) -> Console:
    """Print to another console from now on; gives the one used so far."""
    global _console
    before, _console = _console, replacement
    return before


def open_sink(spark: SparkSession, request: SinkRequest) -> ConsoleSink:  # noqa: ARG001 - the shape of every open_sink
    options = request.options
    as_json = options.get("format", "table").lower() == "json"
    rows = _number(options, "rows", _ALL if as_json else _TABLE_ROWS, least=0)
    return ConsoleSink(request.statement, as_json, rows, _number(options, "width", 40, least=4))


class ConsoleSink(Sink):
    """Printing cannot be taken back: a batch that runs twice after a crash is printed twice."""

    def __init__(
        self, statement: str, as_json: bool, rows: int, width: int, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._statement = statement
        self._as_json = as_json
        self._rows = rows
        self._width = width
        self._now = now

    def write(self, output: Output) -> None:
        if self._as_json:
            self._write_json(output)
        else:
            self._write_table(output)

    def _write_json(self, output: Output) -> None:
        if output.table is not None:
            lines = list(json_lines(output.table.slice(0, self._rows), output.columns))
            total = output.table.num_rows
        else:
            assert output.frame is not None
            table, total = _first_rows(json_frame(output.frame, output.columns), self._rows)
            lines = table.column(0).to_pylist()
        for line in lines:
            console().print(line, markup=False, highlight=False, soft_wrap=True, emoji=False)
        if total > len(lines):
            # Not among the rows: another program may be reading them.
            Console(stderr=True).print(f"... and {total - len(lines):,} more rows", style="dim", highlight=False)

    def _write_table(self, output: Output) -> None:
        if output.table is not None:
            table, total = output.table.slice(0, self._rows), output.table.num_rows
        else:
            assert output.frame is not None
            wanted = [*output.columns, *((EMISSION,) if EMISSION in output.frame.columns and EMISSION not in output.columns else ())]
            table, total = _first_rows(flat_frame(output.frame, tuple(wanted)), self._rows)
        if total == 0:
            return
        kinds = table.column(EMISSION).to_pylist() if EMISSION in table.column_names else [None] * table.num_rows
        page = Page(self._statement, output.batch_id, self._now(), table.select(list(output.columns)), tuple(kinds), total, self._width)
        print_page(page, console())


def _first_rows(frame: DataFrame, rows: int) -> tuple[pa.Table, int]:
    """The first rows of a frame and the count of all of them, in one action.

    LIMIT would stop reading early and leave the rest uncounted; this passes every row and keeps the first of each partition.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    counted = Observation()
    position = F.monotonically_increasing_id().bitwiseAND(F.lit(_ALL))
    table = frame.observe(counted, F.count(F.lit(1)).alias("rows")).where(position < rows).toArrow()
    return labelled(table.slice(0, rows), zone_of(frame.sparkSession)), int(counted.get.get("rows", 0))


def _number(options: Mapping[str, str], key: str, default: int, *, least: int) -> int:
    text = options.get(key)
    if text is None:
        return default
    if not text.strip().isdigit() or int(text) < least:
        raise UsageError("WR503", f"'{key}' = '{text}' is not a whole number of at least {least}", f"'{key}' = '{default}'")
    return int(text)


class ConsoleConnector(Connector):
    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return open_sink(spark, request)
