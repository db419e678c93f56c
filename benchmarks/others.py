"""Comparisons that are not one window against another: emission row by row, accounting, several statements, small batches, large state."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.data import COLUMNS
from benchmarks.sides import DEFAULTS, QUERIES, run_by_hand
from windrow.compiler import compile_sql
from windrow.jobs import RunOptions, start
from windrow.plan.physical.renames import part_names
from windrow.plan.stages import Aggregate
from windrow.spark.operators import aggregate
from windrow.spark.operators.partial_aggregation import PartialAggregation
from windrow.spark.row_columns import CLOCK, JUDGED, ROW, ROWS_COUNT, TIME
from windrow.spark.session import SPEED
from windrow.windowing.columns import COUNT, SLICE

CANDLE = "SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(volume) AS volume, MIN(price) AS low, MAX(price) AS high FROM trades"
FIVE = ("TUMBLING(1m)", "TUMBLING(5m)", "SLIDING(15m, 1m)", "SLIDING(5m, 1m)", "TUMBLING(15m)")


@dataclass(frozen=True)
class Bench:
    """Where a comparison runs."""

    spark: SparkSession
    source: Path
    format: str
    files: int
    work: Path
    repeat: int
    cores: int

    def tuned(self) -> dict[str, str]:
        return {**SPEED, "spark.sql.shuffle.partitions": str(self.cores)}

    def windrow(self, *statements: str, settings: dict[str, str] | None = None) -> tuple[float, list[float]]:
        """Seconds for everything, and for each batch as Spark counts them."""
        shutil.rmtree(self.work, ignore_errors=True)
        sql = f"""CREATE STREAM trades ({COLUMNS}) WITH ('connector' = 'files', 'path' = '{self.source}', 'format' = '{self.format}',
          'files.per_batch' = '{self.files}', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');"""
        for number, statement in enumerate(statements):
            sink = f"'connector' = 'files', 'path' = '{self.work}/out{number}', 'format' = 'parquet'"
            sql += f"\nCREATE STREAM s{number} AS {statement} WITH ({sink});"
        compiled = compile_sql(sql, env={})
        assert len(compiled.plan.jobs) == 1
        started = time.monotonic()
        jobs = start(compiled, RunOptions(mode="once", state=self.work / "state", settings=settings or {}), self.spark)
        query = jobs.query(jobs.status()[0].job)
        jobs.await_end()
        taken = time.monotonic() - started
        assert jobs.status()[0].ledger.is_balanced
        return taken, [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress]

    def best(self, *runs: Callable[[], float]) -> list[float]:
        """The least that each took. They take turns: a machine that others use is faster in one minute than in the next."""
        taken = [[run() for run in runs] for _ in range(self.repeat)]
        return [min(of_one) for of_one in zip(*taken, strict=True)]


def changes(bench: Bench) -> None:
    """EMIT CHANGES for every row, against the hand-written aggregation that speaks once a window."""
    statement = f"{CANDLE} GROUP BY symbol WINDOW TUMBLING(1m) EMIT CHANGES"
    by_hand, ours = bench.best(lambda: _hand(bench), lambda: bench.windrow(statement)[0])
    _say("EMIT CHANGES for every row", by_hand, ours, "of the speed of a hand-written aggregation that speaks once a window")


def accounting(bench: Bench) -> None:
    """The whole run, against the same run with a query that judges no row: no clocks by partition, no fates, no dead letters."""
    statement = f"{CANDLE} GROUP BY symbol WINDOW TUMBLING(1m)"

    def without() -> float:
        with patch.object(aggregate, "partial_aggregation_sql", _plain_feed):
            return bench.windrow(statement)[0]

    whole, plain = bench.best(lambda: bench.windrow(statement)[0], without)
    print(f"accounting ({bench.format}): {whole / plain - 1:+.0%} of the time without ({whole:.1f} s, {plain:.1f} s)", flush=True)


def _plain_feed(stage: Aggregate, request: PartialAggregation) -> str:
    """What the executors would be asked if every row were sound and in time. One clock moves by all rows."""
    values = ("count(1)", "sum(volume)", "min(price)", "max(price)")
    columns = [column for item in stage.aggregates for column in part_names(item).values()]
    parts = ", ".join(f"{value} AS {column}" for value, column in zip(values, columns, strict=True))
    rows = f"SELECT symbol AS {stage.keys[0][0]}, price, volume, _timestamp, unix_micros(_event_time) AS {TIME} FROM {request.view}"
    sliced = f"SELECT *, {TIME} - pmod({TIME}, 60000000) AS {SLICE}, 0 AS {JUDGED}, CAST(NULL AS STRING) AS {ROW} FROM ({rows})"
    by = f"{stage.keys[0][0]}, {SLICE}, {JUDGED}, {ROW}"
    # The arrival time is a constant of the batch: a text that loses it is planned anew in every batch.
    clock = f"max({TIME}) AS {CLOCK}0, max(_timestamp) AS {CLOCK}_arrival"
    return f"SELECT {by}, count(1) AS {COUNT}, count(1) AS {ROWS_COUNT}, {parts}, {clock} FROM ({sliced}) GROUP BY {by}"


def five(bench: Bench) -> None:
    """Five windowed statements in one job, against one of them."""
    statements = [f"{CANDLE} GROUP BY symbol WINDOW {window}" for window in FIVE]
    one, all_ = bench.best(lambda: bench.windrow(statements[0])[0], lambda: bench.windrow(*statements)[0])
    print(f"five statements over one source ({bench.format}): {all_ / one:.2f} x the time of one ({all_:.1f} s, {one:.1f} s)", flush=True)


def small(bench: Bench) -> None:
    """Batches of a thousand rows: time per batch, after the first ten."""
    folder = bench.work.parent / "small"
    _cut(bench.source, folder, batches=60, rows=1000)
    few = Bench(bench.spark, folder, "parquet", 1, bench.work, bench.repeat, bench.cores)
    statement = f"{CANDLE} GROUP BY symbol WINDOW TUMBLING(1m)"
    ours, tuned, defaults = few.best(
        lambda: median(few.windrow(statement)[1][10:]),
        lambda: _hand_per_batch(few, few.tuned()),
        lambda: _hand_per_batch(few, dict(DEFAULTS)),
    )
    for name, seconds in (("our settings", tuned), ("Spark's defaults", defaults)):
        print(
            f"a batch of 1,000 rows: {1000 * ours:.0f} ms, {ours / seconds:.2f} x by hand with {name} ({1000 * seconds:.0f} ms)", flush=True
        )


def large_state(bench: Bench, pairs: int) -> None:
    """Many open groups on the executors: what a batch costs, by how much it touches."""
    folder = bench.work.parent / f"many-{pairs}"
    if not (folder / "_DONE").exists():
        _many_groups(folder, pairs)
    many = Bench(bench.spark, folder, "parquet", 1, bench.work, 1, bench.cores)
    query = "SELECT symbol, COUNT(*) AS n, SUM(volume) AS volume FROM trades GROUP BY symbol WINDOW TUMBLING(1h)"
    _, batches = many.windrow(query, settings={"state.home": "distributed", "state.buckets": "16"})
    fills = batches[: -len(_TOUCHES)]
    print(f"{pairs:,} open groups on the executors: filled in {sum(fills):.0f} s; then", flush=True)
    for touched, seconds in zip(_TOUCHES, batches[-len(_TOUCHES) :], strict=True):
        print(f"  a batch of {touched:>9,} rows: {seconds:.2f} s")


_TOUCHES = (1_000, 1_000, 10_000, 100_000, 500_000, 1_000)


def _many_groups(folder: Path, pairs: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    fills = [range(first, first + 500_000) for first in range(0, pairs, 500_000)]
    touches = [range(0, pairs, pairs // size) for size in _TOUCHES]
    for number, keys in enumerate([*fills, *touches]):
        names = pa.array([f"S{key}" for key in keys])
        count = len(names)
        table = pa.table({"symbol": names, "price": pa.array([1.0] * count), "volume": [1] * count, "ts": [1_700_000_000_000] * count})
        path = folder / f"part-{number:05d}.parquet"
        pq.write_table(table, path)
        _date(path, number)
    (folder / "_DONE").touch()


def _cut(source: Path, folder: Path, batches: int, rows: int) -> None:
    """The first rows of the input in small files."""
    if (folder / "_DONE").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    table = pq.read_table(sorted(source.glob("part-*"))[0])
    for number in range(batches):
        path = folder / f"part-{number:05d}.parquet"
        pq.write_table(table.slice(number * rows, rows), path)
        _date(path, number)
    (folder / "_DONE").touch()


def _date(path: Path, number: int) -> None:
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _hand(bench: Bench) -> float:
    return run_by_hand(bench.spark, QUERIES["tumbling"], bench.source, bench.format, bench.files, bench.work / "hand", bench.tuned())[0]


def _hand_per_batch(bench: Bench, settings: dict[str, str]) -> float:
    _, batches = run_by_hand(bench.spark, QUERIES["tumbling"], bench.source, bench.format, 1, bench.work / "hand", settings)
    return median(batches[10:])


def _say(what: str, by_hand: float, ours: float, of: str) -> None:
    print(f"{what}: {by_hand / ours:.2f} x {of} ({by_hand:.1f} s, {ours:.1f} s)", flush=True)
