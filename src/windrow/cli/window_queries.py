"""``windrow receiver query``: SQL of one's own over each window of a folder of telemetry."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.exporting import End, Source, Start
from windrow.cli.otap import IdForm
from windrow.cli.times import option_duration, option_time

if TYPE_CHECKING:
    from windrow.jobs.window_queries import WindowQuery, WindowResult, WindowTables

Sql = Annotated[
    str | None,
    typer.Option(
        "--sql", help="The query; {window_start_ns}, {window_end_ns} and :name stand for values.", metavar="SQL", show_default=False
    ),
]
Filters = Annotated[
    list[str] | None, typer.Option("--where", help="Without --sql: only rows that meet this. Can be given again.", show_default=False)
]
Parameters = Annotated[
    list[str] | None, typer.Option("--param", help="What :name stands for. Can be given again.", metavar="NAME=VALUE", show_default=False)
]
Out = Annotated[
    Path | None, typer.Option("--out", help="A file of JSON lines for each window goes here; else rows are printed.", show_default=False)
]
Cache = Annotated[Path | None, typer.Option("--cache", help="Keeps results, and takes them from here.", metavar="DIR", show_default=False)]


def query_windows(
    folder: Source,
    table: Annotated[str, typer.Option("--table", help="Without --sql: whose rows.")] = "logs",
    sql: Sql = None,
    where: Filters = None,
    param: Parameters = None,
    start: Start = None,
    end: End = None,
    out: Out = None,
    cache: Cache = None,
    timeout: Annotated[str, typer.Option("--query-timeout", help="A query that takes longer has failed.")] = "300s",
    granularity: Annotated[str, typer.Option("--granularity", help="Length of a window.")] = "1m",
    margin: Annotated[str, typer.Option("--safety-margin", help="A window is taken this long after its end.")] = "12m",
    ids: Annotated[IdForm, typer.Option("--ids", help="How resource and scope ids are meant.")] = IdForm.batch_local,
    across: Annotated[bool, typer.Option("--across-partitions", help="Results need not say which partition they are of.")] = False,
) -> None:
    """Run SQL over each complete window by itself. A window whose query fails or is too slow is listed, and the next goes on."""
    from windrow.cli.spark_start import start_spark
    from windrow.errors import UsageError
    from windrow.jobs.window_queries import SparkQueries, WindowTables, run_query
    from windrow.otap.discovery import Discovery, TimeRule
    from windrow.otap.footers import FooterCache
    from windrow.otap.layout import Base
    from windrow.otap.timing import Timing, Window

    query = _query(table, sql, tuple(where or ()), param or [])
    timing = Timing(option_duration("--safety-margin", margin), 0, 0, option_duration("--granularity", granularity))
    fault = timing.fault()
    if fault is not None:
        raise UsageError(codes.BAD_VALUE, fault, "--granularity 1m")
    seconds = option_duration("--query-timeout", timeout) / 1e9
    base = Base(str(folder))
    if not base.is_there:
        raise UsageError("WR882", f"there is no folder {folder}", f"make it, or try it out: windrow otap generate {folder}")
    tables = WindowTables(base, Discovery(base, FooterCache(), timing, TimeRule()), timing, query.tables, ids.value)
    first = tables.earliest if start is None else option_time("--from", start)
    safe = timing.safe_until(time.time_ns())
    bounds = Window(timing.window_at(first).start, safe if end is None else min(safe, option_time("--to", end)))
    query.text(bounds)
    spark = start_spark("local[*]")
    try:
        found = run_query(query, tables, bounds, SparkQueries(spark, seconds), cache, across_partitions=across)
        results = [_keep(one, out) for one in found]
    finally:
        spark.stop()
    _report(results, tables)
    if any(one.rows is None for one, _ in results):
        raise typer.Exit(1)


def _query(table: str, sql: str | None, filters: tuple[str, ...], given: list[str]) -> WindowQuery:
    from windrow.errors import UsageError
    from windrow.jobs.window_queries import BAD_QUERY, WindowQuery, default_query
    from windrow.otap.columns import TABLES

    if table not in TABLES:
        raise UsageError(codes.BAD_VALUE, f'--table: there is no table "{table}"', f"there are: {', '.join(TABLES)}")
    if sql is not None and filters:
        raise UsageError(codes.CONFLICT, "--where is for the query that --table stands for", "put the condition into --sql")
    wrong = [text for text in given if "=" not in text]
    if wrong:
        raise UsageError(codes.BAD_VALUE, f"--param {wrong[0]} has no value", f"--param {wrong[0]}=1")
    parameters = {name.strip(): _value(text) for name, _, text in (one.partition("=") for one in given)}
    query = WindowQuery(default_query(table, filters) if sql is None else sql, parameters)
    if not query.tables:
        raise UsageError(BAD_QUERY, "the query reads no table of telemetry", f"FROM one of: {', '.join(TABLES)}")
    return query


def _value(text: str) -> Any:
    """Numbers as numbers, all else as text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _keep(result: WindowResult, out: Path | None) -> tuple[WindowResult, int]:
    """Print or write the rows of a window; of what is reported later only their number is needed."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from windrow.connectors.encoding import json_lines

    if result.rows is None:
        return result, 0
    lines = json_lines(result.rows, tuple(result.rows.column_names))
    count = result.rows.num_rows
    if out is None:
        for line in lines:
            typer.echo(line)
    else:
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{datetime.fromtimestamp(result.window.start // 10**9, UTC):%Y%m%dT%H%M%SZ}.jsonl"
        temporary = path.with_suffix(".tmp")
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        temporary.replace(path)
    return replace(result, rows=result.rows.slice(0, 0)), count


def _report(results: list[tuple[WindowResult, int]], tables: WindowTables) -> None:
    """On standard error: rows may be piped to another program."""
    from windrow.cli.screen import say, screen, show_micros, table

    console = screen(is_error=True)
    made = table("window", "state", "rows>", "seconds>", "why")
    for one, count in results:
        made.add_row(show_micros(one.window.start // 1000), one.state, f"{count:,}", f"{one.seconds:.2f}", one.reason or "")
    console.print(made)
    for path, fault in sorted(tables.left_out.items()):
        say(console, f"left out: {path}: {fault}")
